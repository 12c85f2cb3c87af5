import { rm } from "node:fs/promises";
import { setTimeout as pause } from "node:timers/promises";
import { silentLogger } from "@stackwright/base/logger";
import { storedRunPhase } from "@stackwright/core";
import { Run_Mode, RunTicket_Step } from "@stackwright/proto/stackwright";
import { type BatchOperation, StorageError, tenancyOf } from "@stackwright/storage";
import { fenceResourceId } from "@stackwright/storage/lease";
import { createMemoryStorage } from "@stackwright/storage/memory";
import { expect, it } from "vitest";
import { STACK_HEAD_KIND, stackPlace } from "../domain/run-places.ts";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
import { cancelRun } from "../queue/cancel.ts";
import { claimTicket } from "../queue/claim.ts";
import { enqueueRun } from "../queue/enqueue.ts";
import { releaseClaim } from "../queue/release.ts";
import { ServedProjects } from "../queue/served-projects.ts";
import { listTickets } from "../queue/sweep.ts";
import { playPlan, startFakeWorker } from "../testing/fake-worker.ts";
import { overBatches } from "../testing/over-batches.ts";
import { CONFIGURATION, createRunFixture } from "../testing/run-fixture.ts";
import { claimNext } from "./claim-next.ts";
import type { StoredClaimParts } from "./stored-claim-host.ts";

const kindsOf = (operations: readonly BatchOperation[]) =>
  operations.map((one) => (one.kind === "write" ? one.resource.id.type.kind : one.id.type.kind));

const OBJECT = {
  object: {
    mode: "managed",
    type: "t",
    provider: { source: "example.com/acme/cloud", version: "1.0.0", alias: "" },
    dependencies: [],
    createBeforeDestroy: false,
  },
  content: {
    value: { schemaVersion: 0, json: '{"id":"x"}', sensitive: [] },
    privateBytes: new Uint8Array(),
  },
} as const;

it("a claim that could not be released is released by the worker that has it", async () => {
  let plans = 0;
  let refusals = 0;
  let left = 0;
  const storage = overBatches(createMemoryStorage(), async (operations, write) => {
    if (left > 0 && kindsOf(operations).includes("RunTicket")) {
      left -= 1;
      refusals += 1;
      throw new StorageError("STORAGE_TOO_LARGE", "refused by the test");
    }
    return write();
  });
  const { enqueue, reaches } = await startFakeWorker(
    async (step) => {
      plans += 1;
      if (plans > 1) return playPlan(step);
      await step.host.beginPlanning();
      // From here on nothing of this step can be written, neither its end nor its release.
      left = 2;
      return { how: "exit", code: 1 };
    },
    { storage },
  );
  const run = await enqueue();
  await reaches(run, "awaiting_approval");
  expect([plans, refusals]).toEqual([2, 2]);
});

it("a step whose folder cannot be made ends as a failure of its run, not of the worker", async () => {
  const { enqueue, reaches, folder } = await startFakeWorker(playPlan);
  await rm(folder, { recursive: true });
  const failed = await reaches(await enqueue(), "failed");
  expect(failed).toMatchObject({ reasonCode: "worker_lost" });
});

it("a damaged ticket or stack holds up no other", async () => {
  const { enqueue, reaches, fixture, reference } = await startFakeWorker(playPlan);
  const ticket = { tenancy: fixture.tenancy, name: "default.0" };
  await fixture.damage(SERVER_KINDS.ticket, ticket);
  await fixture.damage(SERVER_KINDS.queue, stackPlace(await fixture.stack("queue")));
  const head = await fixture.stack("head");
  await fixture.damage(STACK_HEAD_KIND, stackPlace(head));
  await enqueue(false, head, "head");
  await reaches(await enqueue(false, reference), "awaiting_approval");
});

it("a run that was ended by force is recovered, however it was canceled", async () => {
  const steps: string[] = [];
  const { parts, fixture, enqueue, reaches } = await startFakeWorker(async (step) => {
    steps.push(step.job.step);
    if (step.job.step === "plan") return playPlan(step);
    const fence = await fixture.fence(step.job.stack, step.job.name);
    await step.host.beginApply(fence?.tenure.epoch ?? 0n);
    const over = step.job.step === "apply" ? new Promise<never>(() => undefined) : pause(500);
    const stopped = await Promise.race([step.stopped, over]);
    await fence?.release();
    if (stopped !== undefined) return { how: "signal", signal: "SIGKILL" };
    return { how: "result", result: { phase: "partially_applied", revision: "1" } };
  });
  const run = await enqueue(true);
  await reaches(run, "applying");
  await cancelRun(parts, run, { actor: "ann", force: true });
  expect(await reaches(run, "partially_applied")).toMatchObject({ reason: "canceled by ann" });
  expect(steps).toEqual(["plan", "apply", "recover"]);
});

it.each([
  { found: "partially_applied", ends: "partially_applied", reasonCode: "result_lost" },
  { found: "failed", ends: "canceled", reasonCode: "" },
] as const)(
  "an apply that is canceled before its executor is lost, and $found by what the recovery finds, ends as $ends with who canceled it",
  async ({ found, ends, reasonCode }) => {
    const { parts, fixture, enqueue, reaches } = await startFakeWorker(async (step) => {
      if (step.job.step === "plan") return playPlan(step);
      if (step.job.step === "recover") {
        const code = found === "failed" ? "worker_lost" : "result_lost";
        const result = { phase: found, revision: "1", reason: "it was lost", reasonCode: code };
        return { how: "result", result };
      }
      const fence = await fixture.fence(step.job.stack, step.job.name);
      await step.host.beginApply(fence?.tenure.epoch ?? 0n);
      await step.stopped;
      await fence?.release();
      return { how: "signal", signal: "SIGKILL" };
    });
    const run = await enqueue(true);
    await reaches(run, "applying");
    await cancelRun(parts, run, { actor: "ann" });
    const ended = await reaches(run, ends);
    expect(ended).toMatchObject({ cancel: { stage: 1, actor: "ann" }, reasonCode });
    expect(ended.reason).toBe(
      ends === "canceled" ? "canceled by ann" : "canceled by ann; it was lost",
    );
  },
);

it("a plan that ends with its worker is planned again, not canceled", async () => {
  const { worker, enqueue, read, reaches } = await startFakeWorker(async ({ host, stopped }) => {
    await host.beginPlanning();
    await stopped;
    return { how: "result", result: { phase: "canceled", reason: "canceled" } };
  });
  const run = await enqueue();
  await reaches(run, "planning");
  await worker.close();
  expect(storedRunPhase((await read(run)).phase)).toBe("queued");
});

it("an apply that ended with its worker is not called canceled, as no request asked for that", async () => {
  const { worker, fixture, enqueue, read, reaches } = await startFakeWorker(async (step) => {
    if (step.job.step === "plan") return playPlan(step);
    const fence = await fixture.fence(step.job.stack, step.job.name);
    await step.host.beginApply(fence?.tenure.epoch ?? 0n);
    await step.stopped;
    await fence?.release();
    return { how: "result", result: { phase: "canceled", revision: "1", reason: "canceled" } };
  });
  const run = await enqueue(true);
  await reaches(run, "applying");
  await worker.close();
  const { phase, reasonCode } = await read(run);
  expect([storedRunPhase(phase), reasonCode]).toEqual(["partially_applied", "worker_ended"]);
});

it.each(["nothing", "a condition", "an object"] as const)(
  "an apply that ended with its worker when it had written %s is called what it is",
  async (written) => {
    const { worker, states, enqueue, read, reaches } = await startFakeWorker(async (step) => {
      if (step.job.step === "plan") return playPlan(step);
      const hold = await states.stack(step.job.stack).acquire();
      await step.host.beginApply(hold.epoch);
      await step.stopped;
      const writer = await hold.begin({ run: step.job.run });
      if (written === "an object") {
        await writer.write({ kind: "adopt", key: { address: "t.one", deposed: "" }, ...OBJECT });
      }
      const checks =
        written === "nothing"
          ? []
          : ([{ kind: "check", address: "check.c", index: 0, status: "unknown" }] as const);
      const { revision } = await writer.finish({ checks, status: "canceled" });
      await hold.release();
      return {
        how: "result",
        result: { phase: "canceled", revision: revision.toString(), reason: "canceled" },
      };
    });
    const run = await enqueue(true);
    await reaches(run, "applying");
    await worker.close();
    const { phase, reasonCode, reason } = await read(run);
    const expected = written === "an object" ? "partially_applied" : "failed";
    expect([storedRunPhase(phase), reasonCode]).toEqual([expected, "worker_ended"]);
    expect(reason).toMatch(written === "an object" ? "before the apply did" : "changed anything");
  },
);

it("an apply whose worker ends before it begins is left to the next worker", async () => {
  const begun = Promise.withResolvers<void>();
  const { worker, parts, enqueue, read } = await startFakeWorker(async (step) => {
    if (step.job.step === "plan") return playPlan(step);
    // It waits for the fence of the stack.
    begun.resolve();
    await step.stopped;
    return { how: "result", result: { phase: "canceled", reason: "canceled" } };
  });
  const run = await enqueue(true);
  await begun.promise;
  await worker.close();
  expect(storedRunPhase((await read(run)).phase)).toBe("approved");
  const [free] = await listTickets(parts);
  expect(free?.ticket).toMatchObject({ claim: undefined, attempts: 0 });
});

it("a worker that lost its lease begins anew, and releases what it had claimed", async () => {
  let plans = 0;
  const { worker, parts, enqueue, reaches } = await startFakeWorker(
    async (step) => {
      plans += 1;
      if (plans > 1) return playPlan(step);
      await step.host.beginPlanning();
      await step.stopped;
      return { how: "signal", signal: "SIGKILL" };
    },
    { timing: { ttlMs: 600 } },
  );
  const run = await enqueue();
  await reaches(run, "planning");
  const { id: first } = worker;
  const tenancy = tenancyOf({ kind: "site" });
  const fence = fenceResourceId({ tenancy, name: `worker.${first}` });
  await parts.storage.writeCAS(await parts.storage.read("strong", fence));
  await reaches(run, "awaiting_approval");
  expect(worker.id).not.toBe(first);
});

it("the result of a step is kept while the store is away", { timeout: 60_000 }, async () => {
  let plans = 0;
  let isAway = false;
  const storage = overBatches(createMemoryStorage(), async (operations, write) => {
    if (!isAway || !kindsOf(operations).includes("Run")) return write();
    throw new StorageError("STORAGE_INCONSISTENT", undefined, {
      details: { outcome: "not-applied" },
    });
  });
  const { enqueue, reaches } = await startFakeWorker(
    async (step) => {
      plans += 1;
      const end = await playPlan(step);
      isAway = plans === 1;
      // Longer than one transaction tries.
      setTimeout(() => {
        isAway = false;
      }, 8_000);
      return end;
    },
    { storage },
  );
  await reaches(await enqueue(), "awaiting_approval");
  expect(plans).toBe(1);
});

it("plans of schedules have half of a worker, and users the rest", async () => {
  const release = Promise.withResolvers<void>();
  const { enqueue, reaches, fixture, jobs } = await startFakeWorker(
    async (step) => {
      await step.host.beginPlanning();
      await release.promise;
      return { how: "result", result: { phase: "no_changes", revision: "0" } };
    },
    { capacity: 2 },
  );
  const scheduled = async (name: string) => {
    const run = { stack: await fixture.stack(name), run: fixture.parts.token() };
    const given = { reference: run, stackName: name, configuration: CONFIGURATION, actor: "ann" };
    await enqueueRun(fixture.parts, { ...given, mode: Run_Mode.MODE_APPLY, background: true });
    return run;
  };
  const first = await scheduled("first");
  await reaches(first, "planning");
  const second = await scheduled("second");
  const requested = await enqueue();
  await reaches(requested, "planning");
  expect(jobs.map(({ run }) => run)).toEqual([first.run, requested.run]);
  release.resolve();
  await reaches(second, "no_changes");
});

it("the apply of a run of a schedule waits for no plans of others", async () => {
  const { fixture, jobs } = await startFakeWorker(async (step) => {
    if (step.job.step === "plan") return playPlan(step);
    await step.stopped;
    return { how: "signal", signal: "SIGKILL" };
  });
  const run = { stack: await fixture.stack("nightly"), run: fixture.parts.token() };
  const given = { stackName: "nightly", configuration: CONFIGURATION, actor: "ann" };
  const request = { ...given, reference: run, mode: Run_Mode.MODE_APPLY, autoApply: true };
  await enqueueRun(fixture.parts, { ...request, background: true });
  await expect.poll(() => jobs.map(({ step }) => step)).toEqual(["plan", "apply"]);
  const [listed] = await listTickets({ ...fixture.parts, logger: silentLogger });
  expect(listed?.ticket).toMatchObject({ step: RunTicket_Step.STEP_APPLY, background: false });
});

it("a remote worker that has enough plans of schedules is given none", async () => {
  const fixture = createRunFixture();
  const stack = await fixture.stack("one");
  const reference = { stack, run: fixture.parts.token() };
  const given = { reference, stackName: "one", configuration: CONFIGURATION, actor: "ann" };
  await enqueueRun(fixture.parts, { ...given, mode: Run_Mode.MODE_APPLY, background: true });
  const worker = await fixture.worker("w");
  const parts = { ...fixture.parts, logger: silentLogger } as unknown as StoredClaimParts;
  const principal = { account: "acme", projects: [] };
  const known = { tickets: await listTickets(parts), endedAgo: new Map<string, number>() };
  const refused = await claimNext(parts, principal, worker, { ...known, background: false });
  expect(refused).toBeUndefined();
  const claimed = await claimNext(parts, principal, worker, known);
  expect(claimed?.claim).toMatchObject({ background: true, step: "plan" });
});

it("a project with many runs leaves each second step to another one", async () => {
  const release = Promise.withResolvers<void>();
  const { enqueue, reaches, fixture, jobs } = await startFakeWorker(
    async (step) => {
      await step.host.beginPlanning();
      await release.promise;
      // Not in the millisecond in which the step before was claimed.
      await pause(5);
      return { how: "result", result: { phase: "no_changes", revision: "0" } };
    },
    { capacity: 1 },
  );
  const request = async (project: string, name: string) =>
    enqueue(false, await fixture.stack(name, "acme", project), name);
  await reaches(await request("web", "first"), "planning");
  let last: Awaited<ReturnType<typeof request>> | undefined;
  for (const name of ["a", "b", "c"]) last = await request("web", name);
  for (const name of ["d", "e"]) await request("shop", name);
  release.resolve();
  if (last !== undefined) await reaches(last, "no_changes");
  const order = jobs.map(({ stack }) => stack.project);
  expect(order).toEqual(["web", "shop", "web", "shop", "web", "web"]);
});

it("a worker with room for three steps counts what it has claimed before it claims the next one", async () => {
  const storage = createMemoryStorage();
  const before = createRunFixture(storage);
  const worker = await before.worker("another");
  for (const [project, name] of [
    ["shop", "a"],
    ["shop", "b"],
    ["web", "c"],
    ["web", "d"],
    ["web", "e"],
    ["shop", "f"],
  ] as const) {
    await before.enqueue(await before.stack(name, "acme", project), name, Run_Mode.MODE_APPLY);
    if (name !== "b") continue;
    const tickets = await listTickets({ ...before.parts, logger: silentLogger });
    for (const { id } of tickets) await claimTicket(before.parts, id, worker, "token");
  }
  const release = Promise.withResolvers<void>();
  const { jobs } = await startFakeWorker(
    async (step) => {
      await step.host.beginPlanning();
      await release.promise;
      return { how: "result", result: { phase: "no_changes", revision: "0" } };
    },
    { storage, capacity: 3 },
  );
  const projects = () => jobs.map(({ stack }) => stack.project);
  await expect.poll(projects).toEqual(["web", "web", "shop"]);
  release.resolve();
});

it("remote workers are given steps of projects in turns", async () => {
  const fixture = createRunFixture();
  for (const [project, name] of [
    ["web", "a"],
    ["web", "b"],
    ["shop", "c"],
  ] as const) {
    const stack = await fixture.stack(name, "acme", project);
    await fixture.enqueue(stack, name, Run_Mode.MODE_APPLY);
    await fixture.clock.advance(1_000);
  }
  const worker = await fixture.worker("w");
  const served = new ServedProjects(fixture.clock);
  const parts = { ...fixture.parts, served, logger: silentLogger } as unknown as StoredClaimParts;
  const projects: string[] = [];
  for (let step = 0; step < 4; step += 1) {
    const known = { tickets: await listTickets(parts), endedAgo: new Map<string, number>() };
    const given = await claimNext(parts, { account: "acme", projects: [] }, worker, known);
    if (given === undefined) throw new Error("nothing was given");
    const { reference, ticket, tokenDigest } = given.claim;
    projects.push(reference.stack.project);
    const { id, guard } = worker;
    const back = { ticket, worker: id, tokenDigest, guard, actor: id, reason: "of the test" };
    await releaseClaim(parts, { ...back, isReturned: true });
    await fixture.clock.advance(1_000);
  }
  expect(projects).toEqual(["web", "shop", "web", "shop"]);
});

it("remote workers that ask at once are given steps of several projects", async () => {
  const fixture = createRunFixture();
  for (const name of ["a", "b", "c", "d"]) {
    const stack = await fixture.stack(name, "acme", "web");
    await fixture.enqueue(stack, name, Run_Mode.MODE_APPLY);
  }
  await fixture.clock.advance(1_000);
  for (const name of ["e", "f", "g", "h"]) {
    const stack = await fixture.stack(name, "acme", "shop");
    await fixture.enqueue(stack, name, Run_Mode.MODE_APPLY);
  }
  const served = new ServedProjects(fixture.clock);
  const parts = { ...fixture.parts, served, logger: silentLogger } as unknown as StoredClaimParts;
  const known = { endedAgo: new Map<string, number>() };
  const workers = await Promise.all(["w", "x", "y", "z"].map(async (id) => fixture.worker(id)));
  const waiting = Promise.all(
    workers.map(async (worker) =>
      claimNext(parts, { account: "acme", projects: [] }, worker, {
        ...known,
        tickets: await listTickets(parts),
      }),
    ),
  );
  // Those that were slower try again after a pause.
  await fixture.clock.advance(30_000);
  const given = await waiting;
  const projects = given.map((one) => one?.claim.reference.stack.project);
  expect(projects.filter((one) => one === "shop")).toHaveLength(2);
});

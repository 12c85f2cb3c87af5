import { Project, Run_Mode } from "@stackwright/proto/stackwright";
import { describe, expect, it } from "vitest";
import { APPROVAL_GRACE_MS, DEFAULT_APPROVAL_MS } from "../domain/approval-time.ts";
import { projectPlace } from "../domain/project-settings.ts";
import { decodeRecord } from "../domain/record-kind.ts";
import { RUN_KIND, type RunReference, runPlace, ticketPlace } from "../domain/run-places.ts";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
import { createRunFixture } from "../testing/run-fixture.ts";
import { beginApply } from "./apply-steps.ts";
import { claimTicket } from "./claim.ts";
import { approveRun } from "./decide.ts";
import { beginPlanning, recordPlan } from "./plan-steps.ts";
import { releaseClaim } from "./release.ts";
import { phaseOf } from "./run-row.ts";
import { readQueue } from "./stack-queue.ts";
import { listTickets, sweepQueues } from "./sweep.ts";
import { idOf, transact } from "./transaction.ts";

const SUMMARY = {
  create: 1,
  update: 0,
  replace: 0,
  delete: 0,
  import: 0,
  move: 0,
  forget: 0,
  documentSha256: "",
  viewSha256: "",
};
const HOUR_MS = 3_600_000;
const RACES = 1_000;

/** A run whose plan waits for approval. */
async function start(settings: Partial<Project> = {}) {
  const fixture = createRunFixture();
  const { parts, storage, clock } = fixture;
  const stack = await fixture.stack("one");
  const { account, project } = stack;
  await fixture.put(
    SERVER_KINDS.project,
    projectPlace({ account, project }),
    Project.create({ name: project, ...settings }),
  );
  const run = await fixture.enqueue(stack, "one", Run_Mode.MODE_APPLY, false);
  const worker = await fixture.worker("w");
  const ticket = idOf(SERVER_KINDS.ticket, ticketPlace(run));
  const claim = async () => claimTicket(parts, ticket, worker, parts.token());
  const planning = await claim();
  if (planning === undefined) throw new Error("the ticket is not free");
  await beginPlanning(parts, planning);
  const planDigest = await fixture.plan(stack, "plan");
  await recordPlan(parts, planning, { digest: planDigest, baseRevision: 0n, summary: SUMMARY });
  const stored = async () =>
    decodeRecord(RUN_KIND, await storage.read("strong", idOf(RUN_KIND, runPlace(run))));
  return {
    ...fixture,
    run,
    worker,
    ticket,
    claim,
    stored,
    planDigest,
    approve: async (actor = "bea") => approveRun(parts, run, { actor, planDigest }),
    sweep: async () => sweepQueues(parts),
    phase: async () => phaseOf(await stored()),
    queued: async (one: RunReference) =>
      (await listTickets(parts)).some(({ ticket: { run: id } }) => id === one.run),
    // Without the renewals of the lease in between, of which a week has many.
    later: (ms: number) => clock.skip(ms),
    current: async () =>
      (await transact(parts, async (tx) => readQueue(tx, stack))).message.current,
  };
}

describe("a plan that waits for approval", () => {
  it("ends after the time of its project and a minute, and its stack goes to the next run", async () => {
    const { approve, sweep, phase, later, stored, current, enqueue, run } = await start({
      approvalWaitMs: BigInt(HOUR_MS),
    });
    const next = await enqueue(run.stack, "one", Run_Mode.MODE_APPLY, false);
    later(HOUR_MS - 1);
    await sweep();
    expect(await phase()).toBe("awaiting_approval");
    later(1);
    await expect(approve()).rejects.toMatchObject({ code: "approval_expired" });
    await sweep();
    expect(await phase()).toBe("awaiting_approval");
    later(APPROVAL_GRACE_MS);
    expect(await sweep()).toBe(1);
    expect(await stored()).toMatchObject({
      reasonCode: "approval_expired",
      reason: expect.stringContaining("was not approved in time"),
    });
    expect([await phase(), await current()]).toEqual(["discarded", next.run]);
    await expect(approve()).rejects.toMatchObject({ code: "approval_expired" });
    expect(await sweep()).toBe(0);
  });

  it("waits for a week where its project says nothing", async () => {
    const { sweep, phase, later } = await start();
    later(DEFAULT_APPROVAL_MS + APPROVAL_GRACE_MS - 1);
    await sweep();
    expect(await phase()).toBe("awaiting_approval");
    later(1);
    await sweep();
    expect(await phase()).toBe("discarded");
  });

  it("of a release that knows no such time, or of a plan set, waits without a limit", async () => {
    const { sweep, phase, later, put, run, stored, approve } = await start();
    await put(RUN_KIND, runPlace(run), {
      ...(await stored()),
      approvalDeadlineMs: 0n,
      approvalValidMs: 0n,
    });
    later(100 * DEFAULT_APPROVAL_MS);
    await sweep();
    expect(await phase()).toBe("awaiting_approval");
    await approve();
    later(100 * DEFAULT_APPROVAL_MS);
    await sweep();
    expect(await phase()).toBe("approved");
  });

  it("has to be approved again by whose approval no longer counts", async () => {
    const { approve, phase, later, stored } = await start({
      requiredApprovals: 2,
      approvalValidMs: BigInt(HOUR_MS),
    });
    await approve("bea");
    later(HOUR_MS);
    await approve("joe");
    expect(await phase()).toBe("awaiting_approval");
    expect((await stored()).approvals.map(({ actor }) => actor)).toEqual(["bea", "joe"]);
    await approve("bea");
    expect(await phase()).toBe("approved");
    expect((await stored()).approvals.map(({ actor }) => actor)).toEqual(["joe", "bea"]);
  });
});

it("a server whose clock is wrong ends no run that waits", async () => {
  const { parts, sweep, phase, later, run, enqueue, queued } = await start();
  const preview = await enqueue(run.stack, "one", Run_Mode.MODE_PLAN_ONLY, false);
  later(2 * DEFAULT_APPROVAL_MS);
  const known = (mayReact: boolean) => ({
    serverClock: { standing: async () => ({ skewMs: 0, isDisputed: false, mayReact }) },
  });
  expect(await sweepQueues({ ...parts, ...known(false) })).toBe(0);
  expect([await phase(), await queued(preview)]).toEqual(["awaiting_approval", true]);
  expect(await sweepQueues({ ...parts, ...known(true) })).toBe(2);
  expect([await phase(), await queued(preview)]).toEqual(["discarded", false]);
  expect(await sweep()).toBe(0);
});

describe("an automatic approval", () => {
  it("that no longer counts is not renewed by another look, also after one of another user", async () => {
    const { parts, run, approve, phase, later, stored, planDigest } = await start({
      requiredApprovals: 2,
      approvalValidMs: BigInt(HOUR_MS),
    });
    const look = async () =>
      approveRun(parts, run, { actor: "vcs:infra", planDigest, isAutomatic: true });
    const atMs = BigInt(parts.clock.wallMs());
    await look();
    later(HOUR_MS);
    await look();
    expect(await stored()).toMatchObject({ approvals: [{ actor: "vcs:infra", atMs }] });
    await approve("joe");
    await look();
    expect(await phase()).toBe("awaiting_approval");
  });

  it("is given again where that was asked for since", async () => {
    const { parts, run, later, planDigest, stored } = await start({
      requiredApprovals: 2,
      approvalValidMs: BigInt(HOUR_MS),
    });
    const rule = { actor: "vcs:infra", planDigest, isAutomatic: true };
    await approveRun(parts, run, rule);
    later(HOUR_MS);
    const requestedAtMs = BigInt(parts.clock.wallMs());
    for (let looks = 0; looks < 2; looks += 1) {
      await approveRun(parts, run, { ...rule, requestedAtMs });
      expect(await stored()).toMatchObject({ approvals: [{ atMs: requestedAtMs }] });
      later(HOUR_MS);
    }
  });
});

describe("an approved run", () => {
  it("does not begin once its approval no longer counts, and ends a minute later", async () => {
    const { approve, claim, sweep, phase, later, stored, current } = await start({
      approvalValidMs: BigInt(HOUR_MS),
    });
    await approve();
    later(HOUR_MS);
    expect(await claim()).toBeUndefined();
    await sweep();
    expect(await phase()).toBe("approved");
    later(APPROVAL_GRACE_MS);
    await sweep();
    expect(await stored()).toMatchObject({
      reasonCode: "approval_expired",
      reason: expect.stringContaining("was not applied in time"),
    });
    expect([await phase(), await current()]).toEqual(["discarded", ""]);
    expect(await claim()).toBeUndefined();
  });

  it("whose apply a worker has claimed in time is applied, also afterwards", async () => {
    const { parts, approve, claim, sweep, phase, later, fence, run } = await start({
      approvalValidMs: BigInt(HOUR_MS),
    });
    await approve();
    later(HOUR_MS - 1);
    const made = await claim();
    if (made === undefined) throw new Error("the apply was not claimed");
    later(2 * HOUR_MS);
    await sweep();
    const held = await fence(run.stack, "w");
    if (held === undefined) throw new Error("the fence is not free");
    await beginApply(parts, made, held.tenure.epoch);
    await sweep();
    expect(await phase()).toBe("applying");
  });

  it("whose worker was lost before it began ends", async () => {
    const { parts, approve, claim, sweep, phase, later, worker, ticket } = await start({
      approvalValidMs: BigInt(HOUR_MS),
    });
    await approve();
    await claim();
    later(HOUR_MS + APPROVAL_GRACE_MS);
    await sweep();
    expect(await phase()).toBe("approved");
    const { id, guard } = worker;
    await releaseClaim(parts, { ticket, worker: id, guard, actor: "sweep", reason: "it is gone" });
    await sweep();
    expect(await phase()).toBe("discarded");
  });
});

it("of an apply that is claimed and an approval that expires in the same moment, one happens", {
  timeout: 120_000,
}, async () => {
  const outcomes = { applying: 0, discarded: 0 };
  for (let round = 0; round < RACES; round += 1) {
    // A server whose clock is behind claims while another one ends the run.
    const { parts, approve, phase, later, ticket, worker, fence, run, clock } = await start({
      approvalValidMs: BigInt(HOUR_MS),
    });
    await approve();
    later(HOUR_MS + APPROVAL_GRACE_MS);
    // Pauses between attempts end at once.
    const after = (_: number, run: () => void) => {
      queueMicrotask(run);
      return { [Symbol.dispose]: () => undefined };
    };
    const ahead = { ...parts, clock: { ...clock, after } };
    const wallMs = () => clock.wallMs() - 2 * APPROVAL_GRACE_MS;
    const behind = { ...parts, clock: { ...clock, after, wallMs } };
    const held = await fence(run.stack, "w");
    if (held === undefined) throw new Error("the fence is not free");
    const apply = async () => {
      const made = await claimTicket(behind, ticket, worker, parts.token());
      if (made === undefined) return;
      await beginApply(behind, made, held.tenure.epoch);
    };
    const begin = async (work: () => Promise<unknown>, turns: number) => {
      for (let turn = 0; turn < turns; turn += 1) await Promise.resolve();
      await work();
    };
    await Promise.all([
      begin(apply, (round * 7) % 240),
      begin(async () => sweepQueues(ahead), (round * 3) % 60),
    ]);
    const end = await phase();
    expect(["applying", "discarded"]).toContain(end);
    outcomes[end === "applying" ? "applying" : "discarded"] += 1;
  }
  expect(outcomes.applying + outcomes.discarded).toBe(RACES);
  expect(Math.min(outcomes.applying, outcomes.discarded)).toBeGreaterThan(20);
});

import { isEnded, type RunPhase, STORED_RUN_PHASES } from "@stackwright/core";
import { Run, Run_Mode } from "@stackwright/proto/stackwright";
import { expect, it } from "vitest";
import { decodeRecord } from "../domain/record-kind.ts";
import { memberPlace, RUN_KIND, runPlace, ticketPlace } from "../domain/run-places.ts";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
import { createRunFixture } from "../testing/run-fixture.ts";
import { beginApply } from "./apply-steps.ts";
import { cancelRun } from "./cancel.ts";
import { claimTicket } from "./claim.ts";
import { approveRun, discardRun } from "./decide.ts";
import { beginPlanning, recordPlan } from "./plan-steps.ts";
import { releaseClaim } from "./release.ts";
import { phaseOf } from "./run-row.ts";
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

async function start(autoApply = true) {
  const fixture = createRunFixture();
  const { parts, storage } = fixture;
  const stack = await fixture.stack("one");
  const run = await fixture.enqueue(stack, "one", Run_Mode.MODE_APPLY, autoApply);
  const worker = await fixture.worker("w");
  const claim = async () => {
    const [ticket] = await listTickets(parts);
    const made = ticket && (await claimTicket(parts, ticket.id, worker, parts.token()));
    if (made === undefined) throw new Error("nothing to claim");
    return made;
  };
  const stored = async () =>
    decodeRecord(RUN_KIND, await storage.read("strong", idOf(RUN_KIND, runPlace(run))));
  return { ...fixture, stackReference: stack, run, worker, claim, stored };
}

it.each(["preparing", "planning", "planned"] satisfies RunPhase[])(
  "a run that is %s and has no ticket is planned again",
  async (phase) => {
    const { parts, run, claim, stored, put } = await start();
    const planning = await claim();
    if (phase !== "preparing") await beginPlanning(parts, planning);
    if (phase === "planned") {
      const message = { ...(await stored()), phase: STORED_RUN_PHASES.planned };
      await put(RUN_KIND, runPlace(run), message);
    }
    // A foreign writer, or a restored backup, took it away.
    await transact(parts, async (tx) => {
      tx.remove(await tx.get(SERVER_KINDS.ticket, ticketPlace(run)));
    });
    expect(await sweepQueues(parts)).toBe(1);
    expect(phaseOf(await stored())).toBe("queued");
    expect(await sweepQueues(parts)).toBe(0);
    await beginPlanning(parts, await claim());
    expect(phaseOf(await stored())).toBe("planning");
  },
);

it("a run that was canceled and has no ticket ends, and the next run of its stack begins", async () => {
  const { parts, run, claim, stored, enqueue, stackReference } = await start();
  await beginPlanning(parts, await claim());
  await cancelRun(parts, run, { actor: "ann" });
  const next = await enqueue(stackReference, "one", Run_Mode.MODE_APPLY);
  await transact(parts, async (tx) => {
    tx.remove(await tx.get(SERVER_KINDS.ticket, ticketPlace(run)));
  });
  expect(await sweepQueues(parts)).toBe(1);
  expect(phaseOf(await stored())).toBe("canceled");
  expect((await listTickets(parts)).map(({ ticket }) => ticket.run)).toEqual([next.run]);
});

it.each(["plan", "apply", "recover"] as const)(
  "a step that ends each of its workers (%s) ends its run also where its ticket is lost each time",
  async (step) => {
    const { parts, run, claim, stored, worker, head, plan, fence, stackReference } = await start();
    const lose = async () => {
      await transact(parts, async (tx) => {
        tx.remove(await tx.get(SERVER_KINDS.ticket, ticketPlace(run)));
      });
      expect(await sweepQueues(parts)).toBe(1);
    };
    const die = async ({ ticket }: Awaited<ReturnType<typeof claim>>) =>
      releaseClaim(parts, {
        ticket,
        worker: worker.id,
        guard: worker.guard,
        actor: "w",
        reason: "died",
      });
    if (step !== "plan") {
      // What was tried of the plan is no attempt of the apply.
      await die(await claim());
      const planning = await claim();
      await beginPlanning(parts, planning);
      const digest = await plan(stackReference, "plan");
      await recordPlan(parts, planning, { digest, baseRevision: 0n, summary: SUMMARY });
      expect((await stored()).attempts).toBe(0);
    }
    if (step === "recover") {
      const held = await fence(stackReference, "executor");
      await beginApply(parts, await claim(), held?.tenure.epoch ?? 0n);
      await head(stackReference, run.run);
      await lose();
    }
    let died = 0;
    for (; !isEnded(phaseOf(await stored())) && died < 50; died += 1) {
      const claimed = await claim();
      expect([claimed.step, claimed.attempts]).toEqual([step, died]);
      await die(claimed);
      if (!isEnded(phaseOf(await stored()))) await lose();
    }
    expect(phaseOf(await stored())).toBe("failed");
    expect(died).toBe(step === "recover" ? 10 : 3);
    expect(await listTickets(parts)).toEqual([]);
  },
);

it("a run that cannot be recovered ends, and the next run of its stack begins", async () => {
  const { parts, run, claim, stored, worker, head, plan, fence, enqueue, stackReference } =
    await start();
  const planning = await claim();
  await beginPlanning(parts, planning);
  const digest = await plan(stackReference, "plan");
  await recordPlan(parts, planning, { digest, baseRevision: 0n, summary: SUMMARY });
  const applying = await claim();
  const held = await fence(stackReference, "executor");
  await beginApply(parts, applying, held?.tenure.epoch ?? 0n);
  await head(stackReference, run.run);
  const next = await enqueue(stackReference, "one", Run_Mode.MODE_APPLY);
  let claims = 1;
  for (let current = applying; phaseOf(await stored()) === "applying"; claims += 1) {
    const reason = "the configuration has errors";
    const dead = { ticket: current.ticket, worker: worker.id, guard: worker.guard };
    await releaseClaim(parts, { ...dead, actor: "w", reason });
    if (phaseOf(await stored()) !== "applying") break;
    current = await claim();
    expect(current.step).toBe("recover");
    if (claims > 50) throw new Error("it is recovered for ever");
  }
  expect(await stored()).toMatchObject({
    reasonCode: "recovery_failed",
    reason: "the configuration has errors",
  });
  expect(phaseOf(await stored())).toBe("failed");
  expect(claims).toBeGreaterThan(3);
  expect((await listTickets(parts)).map(({ ticket }) => ticket.run)).toEqual([next.run]);
});

/** A run whose apply was interrupted and whose recovery waits, as its worker gives it back. */
async function startBlocked() {
  const fixture = await start();
  const { parts, run, claim, worker, head, plan, fence, stackReference } = fixture;
  const planning = await claim();
  await beginPlanning(parts, planning);
  const digest = await plan(stackReference, "plan");
  await recordPlan(parts, planning, { digest, baseRevision: 0n, summary: SUMMARY });
  const held = await fence(stackReference, "executor");
  const applying = await claim();
  await beginApply(parts, applying, held?.tenure.epoch ?? 0n);
  await head(stackReference, run.run);
  const dead = { worker: worker.id, guard: worker.guard, actor: "w" };
  const giveBack = async (reason: string, isBlocked = true) =>
    releaseClaim(parts, { ...dead, ticket: applying.ticket, reason, isBlocked });
  await giveBack("died", false);
  return { ...fixture, giveBack };
}

it("a recovery that waits for a provider is no attempt, however often it is tried, and says what it waits for", async () => {
  const { parts, claim, stored, clock, giveBack } = await startBlocked();
  for (let tries = 0; tries < 20; tries += 1) {
    expect((await claim()).attempts).toBe(1);
    await giveBack("in quarantine: stolen key");
    expect(await stored()).toMatchObject({
      reason: "in quarantine: stolen key",
      reasonCode: "recovery_blocked",
    });
    await expect(claim()).rejects.toThrow("nothing to claim");
    await clock.advance(30_000);
  }
  expect(phaseOf(await stored())).toBe("applying");
  await claim();
  await giveBack("died", false);
  expect(await stored()).toMatchObject({ reason: "", reasonCode: "", attempts: 2 });
  expect((await listTickets(parts)).map(({ ticket }) => ticket.attempts)).toEqual([2]);
});

it("a recovery that waits is given up by a cancel, also while it is tried, and the next run of its stack begins", async () => {
  for (const isTried of [false, true]) {
    const { parts, run, claim, stored, clock, giveBack, enqueue, stackReference } =
      await startBlocked();
    await claim();
    await giveBack("in quarantine");
    const next = await enqueue(stackReference, "one", Run_Mode.MODE_APPLY);
    if (isTried) {
      await clock.advance(30_000);
      await claim();
    }
    const outcome = await cancelRun(parts, run, { actor: "ann" });
    expect(outcome).toBe(isTried ? "requested" : "canceled");
    if (isTried) await giveBack("in quarantine");
    expect(phaseOf(await stored())).toBe("failed");
    expect(await stored()).toMatchObject({
      reasonCode: "recovery_failed",
      reason: expect.stringMatching(/^canceled by ann.*in quarantine/) as string,
    });
    expect((await listTickets(parts)).map(({ ticket }) => ticket.run)).toEqual([next.run]);
  }
});

it("a cancel from before the recovery does not give it up", async () => {
  const { parts, run, claim, stored, clock, giveBack } = await startBlocked();
  await cancelRun(parts, run, { actor: "ann", force: true });
  await clock.advance(1_000);
  await claim();
  await giveBack("in quarantine");
  expect(await stored()).toMatchObject({ reasonCode: "recovery_blocked" });
  await clock.advance(30_000);
  await claim();
  await giveBack("in quarantine");
  expect(phaseOf(await stored())).toBe("applying");
});

it("an apply that is asked again to begin, as the answer was lost, begins once", async () => {
  const { parts, claim, stored, plan, fence, stackReference } = await start();
  const planning = await claim();
  await beginPlanning(parts, planning);
  const digest = await plan(stackReference, "plan");
  await recordPlan(parts, planning, { digest, baseRevision: 0n, summary: SUMMARY });
  const applying = await claim();
  const epoch = (await fence(stackReference, "executor"))?.tenure.epoch ?? 0n;
  await beginApply(parts, applying, epoch);
  const { history } = await stored();
  await beginApply(parts, applying, epoch);
  expect((await stored()).history).toEqual(history);
  expect(history.filter(({ to }) => to === STORED_RUN_PHASES.applying)).toHaveLength(1);
  // Without the fence of that epoch nothing begins, also not again.
  await expect(beginApply(parts, applying, epoch + 1n)).rejects.toMatchObject({
    code: "claim_lost",
  });
});

it("a run of a command is not approved, discarded or canceled by the server", async () => {
  const { parts, storage, put, plan, stackReference } = await start();
  const reference = { stack: stackReference, run: parts.token() };
  const planDigest = await plan(stackReference, "plan");
  for (const phase of ["planning", "awaiting_approval", "approved", "applying"] as const) {
    const message = Run.create({
      id: reference.run,
      stack: stackReference.stack,
      phase: STORED_RUN_PHASES[phase],
      planDigest,
    });
    await put(RUN_KIND, memberPlace(stackReference, reference.run), message);
    const id = idOf(RUN_KIND, runPlace(reference));
    const before = (await storage.read("strong", id)).version;
    const refusal = { code: "command_run" };
    const actor = "bea";
    await expect(approveRun(parts, reference, { actor, planDigest })).rejects.toMatchObject(
      refusal,
    );
    await expect(discardRun(parts, reference, { actor })).rejects.toMatchObject(refusal);
    await expect(cancelRun(parts, reference, { actor, force: true })).rejects.toMatchObject(
      refusal,
    );
    expect((await storage.read("strong", id)).version).toBe(before);
  }
});

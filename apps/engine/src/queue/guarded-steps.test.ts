import { Run_Mode } from "@stackwright/proto/stackwright";
import { expect, it } from "vitest";
import { decodeRecord } from "../domain/record-kind.ts";
import { RUN_KIND, runPlace, ticketPlace } from "../domain/run-places.ts";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
import { createRunFixture } from "../testing/run-fixture.ts";
import { beginApply, endApply } from "./apply-steps.ts";
import { cancelRun } from "./cancel.ts";
import { claimTicket, type RunClaim } from "./claim.ts";
import { approveRun } from "./decide.ts";
import { beginPlanning, endWithoutPlan, recordPlan } from "./plan-steps.ts";
import { releaseClaim } from "./release.ts";
import { phaseOf } from "./run-row.ts";
import { sweepQueues } from "./sweep.ts";
import { idOf, transact } from "./transaction.ts";

// What the steps of a run refuse, each one looked at by itself: a step that let it pass would look the same in all other tests.

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

async function start(autoApply = false) {
  const fixture = createRunFixture();
  const { parts, storage } = fixture;
  const stack = await fixture.stack("one");
  const run = await fixture.enqueue(stack, "one", Run_Mode.MODE_APPLY, autoApply);
  const worker = await fixture.worker("w");
  const ticket = idOf(SERVER_KINDS.ticket, ticketPlace(run));
  const tryClaim = async (by = worker, token = parts.token()) =>
    claimTicket(parts, ticket, by, token);
  const claim = async (): Promise<RunClaim> => {
    const made = await tryClaim();
    if (made === undefined) throw new Error("the ticket is not free");
    return made;
  };
  const stored = async () =>
    decodeRecord(RUN_KIND, await storage.read("strong", idOf(RUN_KIND, runPlace(run))));
  const storedTicket = async () =>
    decodeRecord(SERVER_KINDS.ticket, await storage.read("strong", ticket));
  const change = async (values: Partial<Awaited<ReturnType<typeof stored>>>) =>
    fixture.put(RUN_KIND, runPlace(run), { ...(await stored()), ...values });
  const planning = async (): Promise<RunClaim> => {
    const made = await claim();
    await beginPlanning(parts, made);
    return made;
  };
  /** Makes the plan of a run; whether it is applied by itself is that of the run. */
  const plan = async (seed = "plan"): Promise<string> => {
    const made = await planning();
    const digest = await fixture.plan(stack, seed);
    await recordPlan(parts, made, { digest, baseRevision: 0n, summary: SUMMARY });
    return digest;
  };
  const takeFence = async (owner: string) => {
    const fence = await fixture.fence(stack, owner);
    if (fence === undefined) throw new Error("the fence is not free");
    return fence;
  };
  return {
    ...fixture,
    stackReference: stack,
    run,
    worker,
    workerOf: fixture.worker,
    ticket,
    tryClaim,
    claim,
    stored,
    storedTicket,
    change,
    planning,
    planOne: plan,
    takeFence,
  };
}

type Started = Awaited<ReturnType<typeof start>>;

/** The approval of a plan that the run had before. */
const OLD = { actor: "bea", planDigest: "f".repeat(64), comment: "", atMs: 1n };

it.each<[string, (at: Started, claim: RunClaim) => Promise<unknown>]>([
  [
    "made by the same claim",
    async ({ parts, plan, stackReference }, claim) =>
      recordPlan(parts, claim, {
        digest: await plan(stackReference, "second"),
        baseRevision: 0n,
        summary: SUMMARY,
      }),
  ],
  [
    "to be made after its worker was lost",
    async ({ parts, ticket, worker }) =>
      releaseClaim(parts, {
        ticket,
        worker: worker.id,
        guard: worker.guard,
        actor: "sweep",
        reason: "the worker is gone",
      }),
  ],
  [
    "to be made after its ticket was lost",
    async ({ parts, run }) => {
      await transact(parts, async (tx) => {
        tx.remove(await tx.get(SERVER_KINDS.ticket, ticketPlace(run)));
      });
      await sweepQueues(parts);
    },
  ],
])("no approval is kept for a plan %s", async (_, makeAgain) => {
  const at = await start();
  const claim = await at.planning();
  // Whoever wrote it: a foreign writer, a restored backup, or a release that keeps the plan longer.
  await at.change({ planDigest: OLD.planDigest, approvals: [OLD], requiredApprovals: 1 });
  await makeAgain(at, claim);
  const { approvals, planDigest } = await at.stored();
  expect([approvals, planDigest === OLD.planDigest]).toEqual([[], false]);
});

it("an approval is for the plan that its author was shown, also where the other one is stored as well", async () => {
  const { parts, run, plan, stackReference, planOne, stored } = await start();
  const planDigest = await planOne();
  const other = await plan(stackReference, "other");
  await expect(approveRun(parts, run, { actor: "bea", planDigest: other })).rejects.toMatchObject({
    code: "plan_changed",
  });
  expect(await stored()).toMatchObject({ planDigest, approvals: [] });
  expect(phaseOf(await stored())).toBe("awaiting_approval");
});

it("one that approves twice counts once, and those alone count who may", async () => {
  const { parts, run, planOne, stored, change } = await start();
  const planDigest = await planOne();
  await change({ requiredApprovals: 2, excludeAuthor: true, approvers: ["ann", "bea", "eve"] });
  const approve = async (actor: string) => approveRun(parts, run, { actor, planDigest });
  await expect(approve("ann")).rejects.toMatchObject({ code: "self_approval" });
  await expect(approve("joe")).rejects.toMatchObject({ code: "forbidden" });
  await approve("bea");
  await approve("bea");
  expect((await stored()).approvals.map(({ actor }) => actor)).toEqual(["bea"]);
  expect(phaseOf(await stored())).toBe("awaiting_approval");
  await approve("eve");
  expect(phaseOf(await stored())).toBe("approved");
});

it("an apply is recorded with the epoch of the fence that it begins under, after each interruption anew", async () => {
  const { parts, claim, planOne, stored, takeFence } = await start(true);
  await planOne();
  const applying = await claim();
  const first = await takeFence("executor");
  await beginApply(parts, applying, first.tenure.epoch);
  expect((await stored()).epoch).toBe(first.tenure.epoch);
  await first.release();
  // Without a holder, and with another holder: neither may write.
  await expect(beginApply(parts, applying, first.tenure.epoch)).rejects.toMatchObject({
    code: "claim_lost",
  });
  const second = await takeFence("another");
  await expect(beginApply(parts, applying, first.tenure.epoch)).rejects.toMatchObject({
    code: "claim_lost",
  });
  await beginApply(parts, applying, second.tenure.epoch);
  expect((await stored()).epoch).toBe(second.tenure.epoch);
});

it("an apply does not end while its part of the state is open", async () => {
  const { parts, claim, planOne, stored, storedTicket, takeFence, head, stackReference, run } =
    await start(true);
  await planOne();
  const applying = await claim();
  await beginApply(parts, applying, (await takeFence("executor")).tenure.epoch);
  await head(stackReference, run.run);
  for (const phase of ["applied", "partially_applied", "failed", "canceled"] as const) {
    await expect(endApply(parts, applying, { phase, revision: 2n })).rejects.toMatchObject({
      code: "conflict",
    });
    expect([phaseOf(await stored()), (await storedTicket()).claim?.worker]).toEqual([
      "applying",
      "w",
    ]);
  }
  await head(stackReference, "");
  await endApply(parts, applying, { phase: "applied", revision: 2n });
  expect(await stored()).toMatchObject({ revision: 2n });
  expect(phaseOf(await stored())).toBe("applied");
});

it("what a worker has claimed is claimed by no other one, and nothing by one that lost its lease", async () => {
  const { planOne, tryClaim, worker, storedTicket, workerOf } = await start(true);
  await planOne();
  await worker.lease.release();
  await expect(tryClaim()).rejects.toMatchObject({ code: "claim_lost" });
  const next = await workerOf("next");
  const other = await workerOf("other");
  expect(await tryClaim(next)).toMatchObject({ step: "apply" });
  expect(await tryClaim(other)).toBeUndefined();
  expect((await storedTicket()).claim?.worker).toBe("next");
});

it("the end of an earlier claim leaves the later one of the same worker, and a stale lease any", async () => {
  const { parts, ticket, worker, tryClaim, storedTicket } = await start();
  const dead = {
    ticket,
    worker: worker.id,
    guard: worker.guard,
    actor: "w",
    reason: "it ends",
    isReturned: true,
  };
  await tryClaim(worker, "first");
  expect(await releaseClaim(parts, { ...dead, tokenDigest: "first" })).toBe(true);
  await tryClaim(worker, "second");
  expect(await releaseClaim(parts, { ...dead, tokenDigest: "first" })).toBe(false);
  expect(await releaseClaim(parts, { ...dead, worker: "other" })).toBe(false);
  const guard = { ...worker.guard, version: `${worker.guard.version}0` };
  expect(await releaseClaim(parts, { ...dead, guard })).toBe(false);
  expect((await storedTicket()).claim?.tokenDigest).toBe("second");
  expect((await storedTicket()).attempts).toBe(0);
});

it("whose claim was given to another one records nothing more", async () => {
  const { parts, planning, ticket, worker, claim, plan, stackReference, stored } = await start();
  const lost = await planning();
  await releaseClaim(parts, {
    ticket,
    worker: worker.id,
    guard: worker.guard,
    actor: "w",
    reason: "the executor was lost",
  });
  const next = await claim();
  const digest = await plan(stackReference, "late");
  const refusal = { code: "claim_lost" };
  await expect(beginPlanning(parts, lost)).rejects.toMatchObject(refusal);
  await beginPlanning(parts, next);
  await expect(
    recordPlan(parts, lost, { digest, baseRevision: 0n, summary: SUMMARY }),
  ).rejects.toMatchObject(refusal);
  await expect(
    endWithoutPlan(parts, lost, { phase: "no_changes", revision: 0n }),
  ).rejects.toMatchObject(refusal);
  expect(phaseOf(await stored())).toBe("planning");
  expect((await stored()).planDigest).toBe("");
});

it("a run has no plan that is not stored", async () => {
  const { parts, planning, stored } = await start();
  const made = await planning();
  const digest = "a".repeat(64);
  await expect(
    recordPlan(parts, made, { digest, baseRevision: 0n, summary: SUMMARY }),
  ).rejects.toMatchObject({ code: "conflict" });
  expect(phaseOf(await stored())).toBe("planning");
});

it("a cancel asks first, and ends the executor after half a minute or by force", async () => {
  const { parts, run, planning, stored, clock } = await start();
  await planning();
  const stage = async () => (await stored()).cancel?.stage;
  const cancel = async (force = false) => cancelRun(parts, run, { actor: "ann", force });
  expect(await cancel()).toBe("requested");
  expect(await stage()).toBe(1);
  await expect(cancel()).rejects.toMatchObject({ code: "conflict" });
  await clock.advance(29_999);
  await expect(cancel()).rejects.toMatchObject({ code: "conflict" });
  expect(await stage()).toBe(1);
  await clock.advance(1);
  expect(await cancel()).toBe("requested");
  expect(await stage()).toBe(2);
});

it("a cancel by force ends the executor at once", async () => {
  const { parts, run, planning, stored } = await start();
  await planning();
  expect(await cancelRun(parts, run, { actor: "eve", force: true })).toBe("requested");
  expect((await stored()).cancel).toMatchObject({ stage: 2, actor: "eve" });
});

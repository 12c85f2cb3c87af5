import { Run_Mode } from "@stackwright/proto/stackwright";
import { expect, it } from "vitest";
import { decodeRecord } from "../domain/record-kind.ts";
import { RUN_KIND, runPlace } from "../domain/run-places.ts";
import { overBatches } from "../testing/over-batches.ts";
import { createRunFixture } from "../testing/run-fixture.ts";
import { beginApply } from "./apply-steps.ts";
import { cancelRun } from "./cancel.ts";
import { claimTicket } from "./claim.ts";
import { freeze, overrideFreeze, unfreeze } from "./freeze.ts";
import { beginPlanning, recordPlan } from "./plan-steps.ts";
import { releaseClaim } from "./release.ts";
import { phaseOf } from "./run-row.ts";
import { listTickets } from "./sweep.ts";
import { idOf } from "./transaction.ts";

const NOTHING = { create: 1, update: 0, replace: 0, delete: 0, import: 0, move: 0, forget: 0 };
const SUMMARY = { ...NOTHING, documentSha256: "", viewSha256: "" };
const WHY = { actor: "ann", reason: "audit" };

/** A stack with a run that is applied without an approval, and a worker. */
async function start() {
  const fixture = createRunFixture();
  const { parts, storage } = fixture;
  const stack = await fixture.stack("one");
  const run = await fixture.enqueue(stack, "one", Run_Mode.MODE_APPLY, true);
  const worker = await fixture.worker("w");
  const claim = async () => {
    const [ticket] = await listTickets(parts);
    return ticket && claimTicket(parts, ticket.id, worker, parts.token());
  };
  const plan = async () => {
    const planning = await claim();
    if (planning === undefined) throw new Error("no plan begins");
    await beginPlanning(parts, planning);
    const digest = await fixture.plan(stack, "plan");
    await recordPlan(parts, planning, { digest, baseRevision: 0n, summary: SUMMARY });
  };
  const phase = async () =>
    phaseOf(decodeRecord(RUN_KIND, await storage.read("strong", idOf(RUN_KIND, runPlace(run)))));
  const { account, project } = stack;
  return { ...fixture, stack, project: { account, project }, run, worker, claim, plan, phase };
}

it.each(["stack", "project"] as const)(
  "a run of a frozen %s is planned and not applied, until the freeze ends",
  async (what) => {
    const fixture = await start();
    const { parts, claim, plan, phase } = fixture;
    await freeze(parts, fixture[what], WHY);
    await plan();
    expect(await phase()).toBe("approved");
    expect(await claim()).toBeUndefined();
    await unfreeze(parts, fixture[what]);
    expect(await claim()).toMatchObject({ step: "apply" });
  },
);

it("a freeze of another stack or project holds nothing up", async () => {
  const { parts, project, claim, plan } = await start();
  await freeze(parts, { ...project, stack: "two" }, WHY);
  await freeze(parts, { ...project, project: "other" }, WHY);
  await plan();
  expect(await claim()).toMatchObject({ step: "apply" });
});

it("the end of one freeze leaves the other", async () => {
  const { parts, stack, project, claim, plan } = await start();
  await freeze(parts, stack, WHY);
  await freeze(parts, project, WHY);
  await plan();
  await unfreeze(parts, stack);
  expect(await claim()).toBeUndefined();
});

it("a freeze ends by itself at its time, and not before", async () => {
  const { parts, clock, stack, claim, plan } = await start();
  await plan();
  await freeze(parts, stack, { ...WHY, forMs: 10 });
  await clock.advance(9);
  expect(await claim()).toBeUndefined();
  await clock.advance(1);
  expect(await claim()).toMatchObject({ step: "apply" });
});

it("a run with an override is applied, and no other; one that has ended takes none", async () => {
  const { parts, stack, run, claim, plan, storage } = await start();
  await freeze(parts, stack, WHY);
  await plan();
  await overrideFreeze(parts, run, { actor: "bea", reason: "hot fix" });
  const stored = decodeRecord(
    RUN_KIND,
    await storage.read("strong", idOf(RUN_KIND, runPlace(run))),
  );
  expect(stored.freezeOverride).toMatchObject({ actor: "bea", reason: "hot fix" });
  expect(await claim()).toMatchObject({ step: "apply" });
  const other = await start();
  await freeze(other.parts, other.stack, WHY);
  await other.plan();
  await cancelRun(other.parts, other.run, { actor: "ann" });
  await expect(overrideFreeze(other.parts, other.run, WHY)).rejects.toMatchObject({
    code: "run_ended",
  });
});

it("a freeze lets an apply in progress be recovered", async () => {
  const { parts, stack, claim, plan, fence, worker } = await start();
  await plan();
  const applying = await claim();
  if (applying === undefined) throw new Error("no apply begins");
  const held = await fence(stack, "executor");
  await beginApply(parts, applying, held?.tenure.epoch ?? 0n);
  await freeze(parts, stack, WHY);
  await releaseClaim(parts, {
    ticket: applying.ticket,
    worker: worker.id,
    guard: worker.guard,
    actor: "sweep",
    reason: "lost",
  });
  expect(await claim()).toMatchObject({ step: "recover" });
});

it.each(["stack", "project"] as const)(
  "an apply is not claimed where its %s was frozen between the decision and the write",
  async (what) => {
    const fixture = await start();
    const { parts, storage, worker, plan } = fixture;
    await plan();
    const [ticket] = await listTickets(parts);
    if (ticket === undefined) throw new Error("no ticket");
    let isFrozen = false;
    const late = overBatches(storage, async (_operations, write) => {
      if (!isFrozen) {
        isFrozen = true;
        await freeze(parts, fixture[what], WHY);
      }
      return write();
    });
    const claiming = claimTicket({ ...parts, storage: late }, ticket.id, worker, parts.token());
    // The pause before the next attempt is by the clock of the test.
    const progress = { isOver: false };
    void claiming.finally(() => (progress.isOver = true));
    for (let times = 0; times < 1_000 && !progress.isOver; times += 1)
      await fixture.clock.advance(1_000);
    expect(await claiming).toBeUndefined();
    expect(isFrozen).toBe(true);
  },
);

import { Run_Mode } from "@stackwright/proto/stackwright";
import { expect, it } from "vitest";
import { decodeRecord } from "../domain/record-kind.ts";
import { RUN_KIND, runPlace } from "../domain/run-places.ts";
import { createRunFixture } from "../testing/run-fixture.ts";
import { beginApply, endApply } from "./apply-steps.ts";
import { cancelRun } from "./cancel.ts";
import { claimTicket } from "./claim.ts";
import { beginPlanning, recordPlan } from "./plan-steps.ts";
import { phaseOf } from "./run-row.ts";
import { listTickets } from "./sweep.ts";
import { idOf } from "./transaction.ts";

const NOTHING = { create: 1, update: 0, replace: 0, delete: 0, import: 0, move: 0, forget: 0 };

async function start() {
  const fixture = createRunFixture();
  const { parts, storage } = fixture;
  const stack = await fixture.stack("one");
  const run = await fixture.enqueue(stack, "one", Run_Mode.MODE_APPLY, true);
  const worker = await fixture.worker("w");
  const claim = async () => {
    const [ticket] = await listTickets(parts);
    const made = ticket && (await claimTicket(parts, ticket.id, worker, parts.token()));
    if (made === undefined) throw new Error("nothing to claim");
    return made;
  };
  const plan = async () => {
    const planning = await claim();
    await beginPlanning(parts, planning);
    const digest = await fixture.plan(stack, "plan");
    const summary = { ...NOTHING, documentSha256: "", viewSha256: "" };
    return async () => recordPlan(parts, planning, { digest, baseRevision: 0n, summary });
  };
  const phase = async () =>
    phaseOf(decodeRecord(RUN_KIND, await storage.read("strong", idOf(RUN_KIND, runPlace(run)))));
  return { ...fixture, stackReference: stack, run, claim, plan, phase };
}

it("a run that is canceled while its plan is recorded is not applied by itself", async () => {
  const { parts, run, plan, phase } = await start();
  const record = await plan();
  expect(await cancelRun(parts, run, { actor: "ann" })).toBe("requested");
  await record();
  expect(await phase()).toBe("canceled");
  expect(await listTickets(parts)).toEqual([]);
});

it("a run that is canceled before its apply begins is not applied", async () => {
  const { parts, fence, stackReference, run, claim, plan, phase } = await start();
  await (await plan())();
  const applying = await claim();
  expect(await cancelRun(parts, run, { actor: "ann" })).toBe("requested");
  const held = await fence(stackReference, "executor");
  await expect(beginApply(parts, applying, held?.tenure.epoch ?? 0n)).rejects.toMatchObject({
    code: "illegal_transition",
  });
  await endApply(parts, applying, { phase: "failed", reason: "the run is canceled" });
  expect(await phase()).toBe("canceled");
});

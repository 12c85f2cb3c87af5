import { DriftedObject, Run_Mode, StackDrift } from "@stackwright/proto/stackwright";
import { expect, it } from "vitest";
import { decodeRecord } from "../domain/record-kind.ts";
import { stackPlace } from "../domain/run-places.ts";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
import { CONFIGURATION, createRunFixture } from "../testing/run-fixture.ts";
import { beginApply, endApply } from "./apply-steps.ts";
import { claimTicket } from "./claim.ts";
import { enqueueRun } from "./enqueue.ts";
import { beginPlanning, recordPlan } from "./plan-steps.ts";
import { listTickets } from "./sweep.ts";
import { idOf } from "./transaction.ts";

type ApplyEnd = Parameters<typeof endApply>[2];

const counts = { create: 1, update: 0, replace: 0, delete: 0, import: 0, move: 0, forget: 0 };
const summary = { ...counts, documentSha256: "", viewSha256: "" };

/** A stack with drift, of which a run is being applied; gives how many objects have drifted once the run has ended so. */
async function driftAfter(
  end: ApplyEnd,
  given: {
    readonly targets?: readonly string[];
    readonly skipRefresh?: boolean;
    /** What the plan left to a later stage. */
    readonly left?: readonly string[];
  } = {},
): Promise<number> {
  const fixture = createRunFixture();
  const { parts, storage } = fixture;
  const stack = await fixture.stack("one");
  const drift = StackDrift.create({
    stackName: "one",
    changed: 1,
    sinceMs: 1n,
    objects: [DriftedObject.create({ address: "t.a", attributes: ["size"] })],
  });
  await fixture.put(SERVER_KINDS.drift, stackPlace(stack), drift);
  const { left, ...more } = given;
  await enqueueRun(parts, {
    reference: { stack, run: parts.token() },
    stackName: "one",
    configuration: CONFIGURATION,
    mode: Run_Mode.MODE_APPLY,
    actor: "ann",
    autoApply: true,
    ...more,
    ...(left !== undefined && { stage: { number: 1 } }),
  });
  const worker = await fixture.worker("w");
  const claim = async () => {
    const [ticket] = await listTickets(parts);
    const made = ticket && (await claimTicket(parts, ticket.id, worker, parts.token()));
    return made ?? expect.unreachable("nothing to claim");
  };
  const planning = await claim();
  await beginPlanning(parts, planning);
  const digest = await fixture.plan(stack, "plan");
  await recordPlan(parts, planning, {
    digest,
    baseRevision: 0n,
    summary,
    ...(left !== undefined && { left: { parts: left, replace: [] } }),
  });
  const applying = await claim();
  const held = await fixture.fence(stack, "executor");
  await beginApply(parts, applying, held?.tenure.epoch ?? 0n);
  await endApply(parts, applying, end);
  const stored = await storage.read("strong", idOf(SERVER_KINDS.drift, stackPlace(stack)));
  return decodeRecord(SERVER_KINDS.drift, stored).changed;
}

const APPLIED: ApplyEnd = { phase: "applied", revision: 1n, stackName: "one" };

it("forgets the drift of a stack that was applied as a whole", async () => {
  expect(await driftAfter(APPLIED)).toBe(0);
});

it("keeps drift that an apply of a part has not looked at", async () => {
  expect(await driftAfter(APPLIED, { targets: ["t.b"] })).toBe(1);
});

it("keeps drift where the objects were not refreshed", async () => {
  expect(await driftAfter(APPLIED, { skipRefresh: true })).toBe(1);
});

it("keeps drift while something is left to a later stage", async () => {
  expect(await driftAfter(APPLIED, { left: ["t.b"] })).toBe(1);
});

it.each(["partially_applied", "failed", "canceled"] as const)(
  "keeps drift where the apply ended as %s",
  async (phase) => {
    expect(await driftAfter({ phase, revision: 1n, stackName: "one" })).toBe(1);
  },
);

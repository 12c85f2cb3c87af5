import { type Freeze, Run_Mode, Run_Phase, RunTicket_Step } from "@stackwright/proto/stackwright";
import { expect, it } from "vitest";
import { decodeRecord, type RecordKind } from "../domain/record-kind.ts";
import { type Place, RUN_KIND, runPlace, stackPlace, ticketPlace } from "../domain/run-places.ts";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
import { DrawnOrder } from "../testing/drawn-order.ts";
import { createRunFixture } from "../testing/run-fixture.ts";
import { claimTicket } from "./claim.ts";
import { approveRun } from "./decide.ts";
import { freeze, freezePlace } from "./freeze.ts";
import { beginPlanning, recordPlan } from "./plan-steps.ts";
import { lockStack } from "./stack-lock.ts";
import { idOf, type TransactionParts, transact } from "./transaction.ts";

// Two workers that claim a step of a run, and a user who locks or freezes its stack in the same moment: the order of all their reads,
// writes, answers and pauses is drawn, and time stands still.

const PLAN_RACES = 500;
const APPROVALS = 1_000;
/** Turns that a user is late by at most; a claim has about as many. */
const LATE = 20;
const NOTHING = { create: 1, update: 0, replace: 0, delete: 0, import: 0, move: 0, forget: 0 };
const SUMMARY = { ...NOTHING, documentSha256: "", viewSha256: "" };
const WHY = { actor: "ann", reason: "audit" };
/** What a lock and a freeze have in common. */
type Hold = Freeze;

/** A run that waits for the worker of a step, in a store of its own. */
async function waitingRun(seed: number, step: "plan" | "apply") {
  const fixture = createRunFixture();
  const { parts, storage, clock } = fixture;
  const order = new DrawnOrder(seed);
  const stack = await fixture.stack("one");
  const run = await fixture.enqueue(stack, "one", Run_Mode.MODE_APPLY, step === "apply");
  const workers = [await fixture.worker("v"), await fixture.worker("w")] as const;
  const ticket = idOf(SERVER_KINDS.ticket, ticketPlace(run));
  if (step === "apply") {
    const claim = await claimTicket(parts, ticket, workers[0], parts.token());
    if (claim === undefined) throw new Error("no plan begins");
    await beginPlanning(parts, claim);
    const digest = await fixture.plan(stack, "plan");
    await recordPlan(parts, claim, { digest, baseRevision: 0n, summary: SUMMARY });
  }
  const read = async <M>(kind: RecordKind<M>, place: Place): Promise<M> =>
    decodeRecord(kind, await storage.read("strong", idOf(kind, place)));
  const before = await read(SERVER_KINDS.ticket, ticketPlace(run));
  /** The parts of one writer, whose batches are noted by its name. */
  const partsOf = (name: string, batches: string[]): TransactionParts => ({
    ...parts,
    clock: order.clockOf(clock),
    storage: order.storageOf(storage, () => void batches.push(name)),
  });
  /** As before the race. */
  const undo = async (kind: RecordKind<Hold>, place: Place) =>
    transact(parts, async (tx) => {
      const hold = await tx.find(kind, place);
      if (hold !== undefined) tx.remove(hold);
      tx.update(await tx.get(SERVER_KINDS.ticket, ticketPlace(run)), before);
    });
  return { ...fixture, order, stack, run, workers, ticket, read, partsOf, undo };
}

type WaitingRun = Awaited<ReturnType<typeof waitingRun>>;

/** What a user sets, and where it is stored. */
const HOLDS = {
  lock: async (parts: TransactionParts, { stack }: WaitingRun) => lockStack(parts, stack, WHY),
  "freeze of the stack": async (parts: TransactionParts, { stack }: WaitingRun) =>
    freeze(parts, stack, WHY),
  "freeze of the project": async (parts: TransactionParts, { stack }: WaitingRun) =>
    freeze(parts, { account: stack.account, project: stack.project }, WHY),
} as const;
type HoldName = keyof typeof HOLDS;

function placeOf(name: HoldName, { stack }: WaitingRun): [RecordKind<Hold>, Place] {
  const { account, project } = stack;
  switch (name) {
    case "lock":
      return [SERVER_KINDS.lock, stackPlace(stack)];
    case "freeze of the stack":
      return [SERVER_KINDS.freeze, freezePlace(stack)];
    case "freeze of the project":
      return [SERVER_KINDS.freeze, freezePlace({ account, project })];
    default:
      throw new Error(name satisfies never);
  }
}

/** One race; whether a worker won it. */
async function raceOf(waiting: WaitingRun, name: HoldName): Promise<boolean> {
  const { order, workers, ticket, partsOf, parts, read, run } = waiting;
  const [kind, place] = placeOf(name, waiting);
  // One that ended by itself, which the claim removes and the user replaces.
  if (order.chance.maybe(0.25)) {
    const ended = { ...WHY, atMs: 1n, untilMs: 2n, terraform: undefined, notedAtMs: 0n };
    await transact(parts, async (tx) => tx.create(kind, place, ended));
  }
  const late = order.chance.below(LATE);
  const batches: string[] = [];
  const claims = workers.map((worker) => async () => {
    const claim = await claimTicket(partsOf("claim", batches), ticket, worker, parts.token());
    return claim?.worker.id;
  });
  const hold = async () => {
    await order.pass(late);
    await HOLDS[name](partsOf("hold", batches), waiting);
    return undefined;
  };
  const winners = (await order.race([...claims, hold])).filter((one) => one !== undefined);
  // A claim was made before, and one at most, or none is made after.
  expect([["claim", "hold"], ["hold"]]).toContainEqual(batches);
  expect(winners).toHaveLength(batches.length - 1);
  expect((await read(kind, place)).untilMs).toBe(0n);
  expect((await read(SERVER_KINDS.ticket, ticketPlace(run))).claim?.worker).toBe(winners[0]);
  return winners.length > 0;
}

it.each([
  ["lock", 4_000],
  ["freeze of the stack", 3_000],
  ["freeze of the project", 3_000],
] as const)(
  "of the claims of an apply and a %s in the same moment, none is made after it",
  { timeout: 120_000 },
  async (name, races) => {
    const waiting = await waitingRun(1, "apply");
    let claimed = 0;
    for (let race = 0; race < races; race += 1) {
      claimed += (await raceOf(waiting, name)) ? 1 : 0;
      await waiting.undo(...placeOf(name, waiting));
    }
    // Each of both happens often.
    expect(claimed).toBeGreaterThan(races / 5);
    expect(claimed).toBeLessThan((races * 4) / 5);
  },
);

it("of the claims of a plan and a lock in the same moment, none is made after it", {
  timeout: 120_000,
}, async () => {
  let claimed = 0;
  for (let race = 0; race < PLAN_RACES; race += 1) {
    claimed += (await raceOf(await waitingRun(race, "plan"), "lock")) ? 1 : 0;
  }
  expect(claimed).toBeGreaterThan(PLAN_RACES / 5);
  expect(claimed).toBeLessThan((PLAN_RACES * 4) / 5);
});

it("two who approve in the same moment approve once, whatever the order of what they do", {
  timeout: 120_000,
}, async () => {
  for (let race = 0; race < APPROVALS; race += 1) {
    const { order, parts, partsOf, run, stack, workers, ticket, read, ...fixture } =
      await waitingRun(race, "plan");
    const claim = await claimTicket(parts, ticket, workers[0], parts.token());
    if (claim === undefined) throw new Error("no plan begins");
    await beginPlanning(parts, claim);
    const planDigest = await fixture.plan(stack, "plan");
    await recordPlan(parts, claim, { digest: planDigest, baseRevision: 0n, summary: SUMMARY });
    await transact(parts, async (tx) => {
      tx.update(await tx.get(RUN_KIND, runPlace(run)), { requiredApprovals: 2 });
    });
    const approve = (actor: string) => async () =>
      approveRun(partsOf(actor, []), run, { actor, planDigest });
    await order.race([approve("bea"), approve("eve")]);
    const { phase, approvals, history } = await read(RUN_KIND, runPlace(run));
    expect(phase).toBe(Run_Phase.PHASE_APPROVED);
    expect(approvals.map(({ actor }) => actor).toSorted()).toEqual(["bea", "eve"]);
    expect(history.filter(({ to }) => to === Run_Phase.PHASE_APPROVED)).toHaveLength(1);
    expect((await read(SERVER_KINDS.ticket, ticketPlace(run))).step).toBe(
      RunTicket_Step.STEP_APPLY,
    );
  }
});

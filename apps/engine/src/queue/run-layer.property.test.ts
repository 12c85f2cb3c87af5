import {
  isEnded,
  isRunTransition,
  RUN_TRANSITIONS,
  type RunPhase,
  type StackReference,
  storedRunPhase,
} from "@stackwright/core";
import { Run_Mode } from "@stackwright/proto/stackwright";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { decodeRecord } from "../domain/record-kind.ts";
import { memberPlace, RUN_KIND, type RunReference, runPlace } from "../domain/run-places.ts";
import { isServerError } from "../domain/server-error.ts";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
import { createRunFixture, type RunFixture } from "../testing/run-fixture.ts";
import { beginApply, endApply } from "./apply-steps.ts";
import { cancelRun } from "./cancel.ts";
import { claimTicket, type RunClaim, type WorkerTenure } from "./claim.ts";
import { approveRun, discardRun } from "./decide.ts";
import { beginPlanning, endWithoutPlan, recordPlan } from "./plan-steps.ts";
import { releaseClaim } from "./release.ts";
import { listTickets, sweepQueues } from "./sweep.ts";

const OPERATIONS = [
  "enqueue",
  "claim",
  "claim",
  "planning",
  "plan",
  "no-changes",
  "fail",
  "approve",
  "approve",
  "approve-another",
  "discard",
  "cancel",
  "force-cancel",
  "begin-apply",
  "begin-apply",
  "open-head",
  "end-apply",
  "worker-dies",
  "sweep",
] as const;

interface Step {
  readonly operation: (typeof OPERATIONS)[number];
  readonly pick: number;
  readonly mode: Run_Mode;
  readonly autoApply: boolean;
}

/** Operations that lead on, more often than those that end a run. */
const LIKELY = ["claim", "planning", "plan", "approve", "begin-apply", "end-apply"] as const;

const step: fc.Arbitrary<Step> = fc.record({
  operation: fc.constantFrom(...OPERATIONS, ...LIKELY, ...LIKELY, ...LIKELY),
  pick: fc.nat({ max: 1000 }),
  mode: fc.constantFrom(Run_Mode.MODE_APPLY, Run_Mode.MODE_APPLY, Run_Mode.MODE_PLAN_ONLY),
  autoApply: fc.boolean(),
});

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

/** Everybody who writes runs: callers of the API, workers with their claims, and the sweep. */
class Writers {
  readonly runs: { readonly reference: RunReference; readonly mode: Run_Mode }[] = [];
  readonly #fixture: RunFixture;
  readonly #stacks: readonly StackReference[];
  /** Also claims that were lost: their holders try to write all the same, once. */
  #claims: RunClaim[] = [];
  #last: RunClaim | undefined;
  #workers = 0;
  #worker: WorkerTenure | undefined;

  constructor(fixture: RunFixture, stacks: readonly StackReference[]) {
    this.#fixture = fixture;
    this.#stacks = stacks;
  }

  /** One write; what the run layer refuses is refused. */
  async write(given: Step): Promise<void> {
    try {
      await this.#write(given);
    } catch (error) {
      if (!isServerError(error)) throw error;
      if (error.code === "claim_lost") {
        this.#claims = this.#claims.filter((one) => one !== this.#last);
      }
    }
  }

  async #write({ operation, pick, mode, autoApply }: Step): Promise<void> {
    const { parts } = this.#fixture;
    const at = <T>(list: readonly T[]): T | undefined => list[pick % Math.max(1, list.length)];
    const run = at(this.runs.slice(-3))?.reference;
    const isApply = operation.endsWith("-apply") || operation === "open-head";
    const claim = at(this.#claims.filter((one) => (one.step !== "plan") === isApply).slice(-2));
    this.#last = claim;
    switch (operation) {
      case "enqueue": {
        const stack = at(this.#stacks);
        if (stack === undefined || this.runs.length > 12) return;
        const name = `s${this.#stacks.indexOf(stack)}`;
        const reference = await this.#fixture.enqueue(stack, name, mode, autoApply);
        this.runs.push({ reference, mode });
        return;
      }
      case "claim": {
        const worker = this.#worker ?? (await this.#fixture.worker(`w${(this.#workers += 1)}`));
        this.#worker = worker;
        const ticket = at(
          (await listTickets(parts)).filter((one) => one.ticket.claim === undefined),
        );
        if (ticket === undefined) return;
        const made = await claimTicket(parts, ticket.id, worker, parts.token());
        if (made !== undefined) this.#claims.push(made);
        return;
      }
      case "planning":
        if (claim !== undefined) await beginPlanning(parts, claim);
        return;
      case "plan": {
        if (claim === undefined) return;
        const digest = await this.#fixture.plan(claim.reference.stack, parts.token());
        await recordPlan(parts, claim, { digest, baseRevision: 0n, summary: SUMMARY });
        return;
      }
      case "no-changes":
        if (claim !== undefined) {
          await endWithoutPlan(parts, claim, { phase: "no_changes", revision: 0n });
        }
        return;
      case "fail":
        if (claim !== undefined) {
          const failure = { phase: "failed", reason: "x", reasonCode: "y" } as const;
          await endWithoutPlan(parts, claim, failure);
        }
        return;
      case "approve":
      case "approve-another": {
        if (run === undefined) return;
        const stored = await this.#fixture.storage
          .read("strong", { uid: "", ...runPlace(run), type: RUN_KIND.type })
          .then((resource) => decodeRecord(RUN_KIND, resource));
        const planDigest = operation === "approve" ? stored.planDigest : "0".repeat(64);
        await approveRun(parts, run, { actor: "bea", planDigest });
        return;
      }
      case "discard":
        if (run !== undefined) await discardRun(parts, run, { actor: "bea" });
        return;
      case "cancel":
      case "force-cancel":
        if (run !== undefined) {
          await cancelRun(parts, run, { actor: "bea", force: operation !== "cancel" });
        }
        return;
      case "begin-apply": {
        if (claim === undefined || claim.step === "plan") return;
        const { stack } = claim.reference;
        const fence = await this.#fixture.fence(stack, parts.token());
        if (fence === undefined) return;
        try {
          await beginApply(parts, claim, fence.tenure.epoch);
        } finally {
          await fence.release();
        }
        return;
      }
      case "open-head": {
        // Only a run that is being applied opens the head, and recovery closes it.
        if (claim === undefined || claim.step === "plan") return;
        const open = (await this.phase(claim.reference)) === "applying" && (pick >> 3) % 2 === 0;
        await this.#fixture.head(claim.reference.stack, open ? claim.reference.run : "");
        return;
      }
      case "end-apply":
        if (claim !== undefined) {
          const ends = ["partially_applied", "failed", "canceled", "superseded"] as const;
          const phase = (pick >> 3) % 2 === 0 ? "applied" : ends[(pick >> 4) % ends.length];
          await endApply(parts, claim, { phase: phase ?? "failed", revision: 2n });
        }
        return;
      case "worker-dies": {
        const worker = this.#worker;
        if (worker === undefined) return;
        this.#worker = undefined;
        for (const { id, ticket } of await listTickets(parts)) {
          if (ticket.claim?.worker !== worker.id) continue;
          const dead = { ticket: id, worker: worker.id, guard: worker.guard };
          await releaseClaim(parts, { ...dead, actor: "sweep", reason: "the worker is gone" });
        }
        return;
      }
      case "sweep":
        await sweepQueues(parts);
        return;
      default:
        throw new Error(operation satisfies never);
    }
  }

  async phase(reference: RunReference): Promise<RunPhase | undefined> {
    return storedRunPhase((await this.stored(reference)).phase);
  }

  async stored(reference: RunReference) {
    const id = { uid: "", ...runPlace(reference), type: RUN_KIND.type };
    return decodeRecord(RUN_KIND, await this.#fixture.storage.read("strong", id));
  }
}

/** What has to hold after every write, worked out anew from the runs alone. */
async function check(
  { storage, parts }: RunFixture,
  stacks: readonly StackReference[],
  writers: Writers,
  ended: Map<string, string>,
): Promise<void> {
  const tickets = new Map(
    (await listTickets(parts)).map(({ ticket }) => [ticket.run, ticket] as const),
  );
  const waitingByStack = new Map<string, string[]>();
  for (const { reference, mode } of writers.runs) {
    const run = await writers.stored(reference);
    const phase = storedRunPhase(run.phase);
    if (phase === undefined) throw new Error("unknown phase");
    // Only ways of the table, and each begins where the one before ended.
    for (const [at, { from, to }] of run.history.entries()) {
      const [source, target] = [storedRunPhase(from), storedRunPhase(to)];
      if (at === 0) expect(target).toBe("queued");
      else {
        expect(from).toBe(run.history[at - 1]?.to);
        expect([source, target, isRunTransition(source ?? "queued", target ?? "queued")]).toEqual([
          source,
          target,
          true,
        ]);
      }
    }
    expect(run.history.at(-1)?.to).toBe(run.phase);
    // Ends are final.
    const text = JSON.stringify(run, (_, value: unknown) =>
      typeof value === "bigint" ? String(value) : value,
    );
    if (ended.has(run.id)) expect(text).toBe(ended.get(run.id));
    if (isEnded(phase)) ended.set(run.id, text);
    // Approvals are for the plan that the run has.
    for (const { planDigest } of run.approvals) expect(planDigest).toBe(run.planDigest);
    const wasApproved = ["approved", "applying", "applied", "partially_applied"].includes(phase);
    if (wasApproved) expect(run.planDigest).not.toBe("");
    if (wasApproved && !run.autoApply) expect(run.approvals.length).toBeGreaterThan(0);
    const speculative = mode === Run_Mode.MODE_PLAN_ONLY;
    if (speculative) expect(wasApproved).toBe(false);
    if (!isEnded(phase) && !speculative) {
      const key = reference.stack.stack;
      waitingByStack.set(key, [...(waitingByStack.get(key) ?? []), run.id]);
    }
    // A ticket exists exactly while the run needs or has a worker.
    const isFirst = speculative || waitingByStack.get(reference.stack.stack)?.[0] === run.id;
    const needs = isFirst && !isEnded(phase) && phase !== "awaiting_approval";
    expect([run.id, phase, tickets.has(run.id)]).toEqual([run.id, phase, needs]);
    const claimed = tickets.get(run.id)?.claim !== undefined;
    if (phase === "preparing" || phase === "planning") expect(claimed).toBe(true);
    if (phase === "queued") expect(claimed).toBe(false);
    await checkLog(storage, reference, isEnded(phase));
  }
  // One current run per stack: the oldest that has not ended; the others wait in the order of their numbers.
  for (const stack of stacks) {
    const id = { uid: "", ...memberPlace(stack), type: SERVER_KINDS.queue.type };
    const found = await storage.read("strong", id).catch(() => undefined);
    const waiting = waitingByStack.get(stack.stack) ?? [];
    const queue = found && decodeRecord(SERVER_KINDS.queue, found);
    expect([queue?.current ?? "", ...(queue?.pending ?? [])]).toEqual(
      waiting.length === 0 ? [""] : waiting,
    );
  }
}

/** The sequence of a log has no gaps, and a run that ended says so last. */
async function checkLog(
  storage: RunFixture["storage"],
  reference: RunReference,
  hasEnded: boolean,
) {
  const { tenancy, name } = runPlace(reference);
  const { type } = SERVER_KINDS.segment;
  const segments = (await storage.list("strong", type, tenancy, `${name}.`))
    .map((resource) => decodeRecord(SERVER_KINDS.segment, resource))
    .toSorted((a, b) => Number(a.first - b.first));
  const events = segments.flatMap((one) =>
    one.events.map((line) => JSON.parse(line) as { seq: number; type: string }),
  );
  expect(events.map(({ seq }) => seq)).toEqual(events.map((_, index) => index + 1));
  expect(events.filter(({ type: name }) => name === "end")).toHaveLength(hasEnded ? 1 : 0);
  if (hasEnded) expect(events.at(-1)?.type).toBe("end");
}

describe("the run layer", () => {
  it("keeps its invariants whatever all writers do, one after another", async () => {
    const reached = new Set<string>();
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 100, maxLength: 160 }), async (steps) => {
        const fixture = createRunFixture();
        const stacks = [await fixture.stack("s0"), await fixture.stack("s1")];
        const writers = new Writers(fixture, stacks);
        const ended = new Map<string, string>();
        for (const one of steps) {
          await writers.write(one);
          await check(fixture, stacks, writers, ended);
        }
        for (const { reference } of writers.runs)
          reached.add((await writers.phase(reference)) ?? "");
      }),
      { numRuns: 50 },
    );
    // The sequences go far enough to mean something. A seed may miss one or two of the phases by chance.
    expect(reached.size).toBeGreaterThan(4);
  }, 120_000);

  it("keeps its invariants when writers race", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.array(step, { minLength: 1, maxLength: 5 }), { minLength: 10, maxLength: 30 }),
        async (rounds) => {
          const fixture = createRunFixture();
          const stacks = [await fixture.stack("s0")];
          const writers = new Writers(fixture, stacks);
          const ended = new Map<string, string>();
          for (const round of rounds) {
            const writing = Promise.all(round.map(async (one) => writers.write(one)));
            // Pauses of lost attempts are over when the clock moves.
            const over = writing.then(() => "over");
            while ((await Promise.race([over, fixture.clock.advance(50)])) !== "over");
            writers.runs.sort((a, b) => (a.reference.run < b.reference.run ? -1 : 1));
            await check(fixture, stacks, await inOrder(writers), ended);
          }
        },
      ),
      { numRuns: 20 },
    );
  }, 120_000);

  it("has no way out of an end but the undoing of a partial apply", () => {
    const ends = (Object.keys(RUN_TRANSITIONS) as RunPhase[]).filter(isEnded);
    expect(ends.flatMap((phase) => RUN_TRANSITIONS[phase])).toEqual(["rolled_back"]);
  });
});

/** Runs by their numbers, which are the order of the queue. */
async function inOrder(writers: Writers): Promise<Writers> {
  const numbers = new Map<string, bigint>();
  for (const { reference } of writers.runs) {
    numbers.set(reference.run, (await writers.stored(reference)).number);
  }
  writers.runs.sort((a, b) =>
    Number((numbers.get(a.reference.run) ?? 0n) - (numbers.get(b.reference.run) ?? 0n)),
  );
  return writers;
}

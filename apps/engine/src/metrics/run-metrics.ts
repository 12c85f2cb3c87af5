import type { Clock } from "@stackwright/base/clock";
import type { PolicyResult } from "@stackwright/proto/stackwright";
import { Counter, Gauge, Histogram, type Registry } from "prom-client";
import { enforcementName } from "../policy/policy-places.ts";
import { outcomeName } from "../policy/policy-verdict.ts";
import type { ListedTicket } from "../queue/choose-ticket.ts";
import type { RunClaim } from "../queue/claim.ts";

/** How the step of a run ended at a worker: `lost` when another worker takes it. */
type StepEnd = "ended" | "failed" | "lost";

/** Is informed of what a worker does. */
export interface WorkerObserver {
  capacity(steps: number): void;
  /**
   * A step begins; the returned function is called once when it is over.
   *
   * @param waitedMs how long it waited for a worker; undefined where an attempt before had begun
   */
  begins(step: RunClaim["step"], waitedMs?: number): (end: StepEnd) => void;
}

/** Reads the tickets of all pools. */
type ReadTickets = (signal: AbortSignal) => Promise<readonly ListedTicket[]>;

/** The queue is read at most this often, however often metrics are. */
const QUEUE_AGE_MS = 5_000;
const QUEUE_TIMEOUT_MS = 2_000;

/** The numbers of the worker of a server, and of the queue of its store. */
export class RunMetrics implements WorkerObserver {
  readonly #clock: Clock;
  readonly #capacity: Gauge;
  readonly #running: Gauge<"step">;
  readonly #durations: Histogram<"step" | "end">;
  readonly #waits: Histogram<"step">;
  readonly #lost: Counter;
  readonly #judged: Counter<"level" | "outcome">;
  readonly #queued: Gauge<"pool" | "state">;
  readonly #oldest: Gauge;
  readonly #stuck: Gauge<"why">;
  #tickets: ReadTickets | undefined;
  #readAtMs = Number.NEGATIVE_INFINITY;
  #reading: Promise<void> | undefined;

  constructor(registry: Registry, clock: Clock) {
    const registers = [registry];
    this.#clock = clock;
    this.#capacity = new Gauge({
      name: "stackwright_worker_capacity",
      help: "Steps of runs that the worker of this server executes at the same time.",
      registers,
    });
    this.#running = new Gauge({
      name: "stackwright_worker_steps_running",
      help: "Steps of runs that the worker of this server executes.",
      labelNames: ["step"],
      registers,
    });
    this.#durations = new Histogram({
      name: "stackwright_run_step_seconds",
      help: "Time of the steps of runs at the worker of this server. The end `lost` is a claim that another worker takes.",
      labelNames: ["step", "end"],
      buckets: [0.5, 1, 2.5, 5, 10, 30, 60, 300, 900, 3600],
      registers,
    });
    this.#waits = new Histogram({
      name: "stackwright_run_wait_seconds",
      help: "How long steps waited until the worker of this server claimed them for the first time.",
      labelNames: ["step"],
      buckets: [0.1, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900, 3600],
      registers,
    });
    this.#lost = new Counter({
      name: "stackwright_leases_lost_total",
      help: "Claims of steps that the worker of this server lost to another one: it was stopped, or the store was away for longer than the lease.",
      registers,
    });
    this.#judged = new Counter({
      name: "stackwright_policy_results_total",
      help: "Plans judged by sets of policies, by the enforcement of the set and what it said.",
      labelNames: ["level", "outcome"],
      registers,
    });
    const collect = async (): Promise<void> => this.#read();
    this.#queued = new Gauge({
      name: "stackwright_queue_tickets",
      help: "Steps of runs in the queue of the store, by the pool of workers that takes them.",
      labelNames: ["pool", "state"],
      registers,
      collect,
    });
    this.#oldest = new Gauge({
      name: "stackwright_queue_oldest_seconds",
      help: "How long the oldest step waits that no worker has claimed; 0 when there is none.",
      registers,
      collect,
    });
    this.#stuck = new Gauge({
      name: "stackwright_runs_stuck",
      help: "Steps of runs in the queue of the store that a server noted as stuck: no worker takes them, or nothing is heard of them.",
      labelNames: ["why"],
      registers,
      collect,
    });
  }

  /** Begins to read the queue when metrics are. */
  readQueueBy(tickets: ReadTickets): void {
    this.#tickets = tickets;
  }

  /** Counts what each set said about a plan. */
  judged({ sets }: Pick<PolicyResult, "sets">): void {
    for (const set of sets) {
      this.#judged.inc({ level: enforcementName(set.enforcement), outcome: outcomeName(set) });
    }
  }

  capacity(steps: number): void {
    this.#capacity.set(steps);
  }

  begins(step: RunClaim["step"], waitedMs?: number): (end: StepEnd) => void {
    const startedMs = this.#clock.monotonicMs();
    this.#running.inc({ step });
    if (waitedMs !== undefined) this.#waits.observe({ step }, Math.max(0, waitedMs) / 1000);
    return (end) => {
      this.#running.dec({ step });
      if (end === "lost") this.#lost.inc();
      this.#durations.observe({ step, end }, (this.#clock.monotonicMs() - startedMs) / 1000);
    };
  }

  /** The values stay as they are while the store is away: the other metrics are needed then. */
  async #read(): Promise<void> {
    const tickets = this.#tickets;
    if (tickets === undefined || this.#clock.monotonicMs() - this.#readAtMs < QUEUE_AGE_MS) return;
    this.#reading ??= this.#readQueue(tickets)
      .catch(() => undefined)
      .finally(() => {
        this.#readAtMs = this.#clock.monotonicMs();
        this.#reading = undefined;
      });
    await this.#reading;
  }

  async #readQueue(tickets: ReadTickets): Promise<void> {
    const all = await tickets(AbortSignal.timeout(QUEUE_TIMEOUT_MS));
    const waiting = all.filter(({ ticket }) => ticket.claim === undefined);
    // A pool whose last step is over has none, rather than what was last counted.
    this.#queued.reset();
    for (const pool of new Set(["", ...all.map(({ ticket }) => ticket.pool)])) {
      const count = (some: readonly ListedTicket[]): number =>
        some.filter(({ ticket }) => ticket.pool === pool).length;
      this.#queued.set({ pool, state: "waiting" }, count(waiting));
      this.#queued.set({ pool, state: "claimed" }, count(all) - count(waiting));
    }
    const stuck = (some: readonly ListedTicket[]): number =>
      some.filter(({ ticket }) => ticket.stuckNotedAtMs !== 0n).length;
    this.#stuck.set({ why: "unclaimed" }, stuck(waiting));
    this.#stuck.set({ why: "silent" }, stuck(all) - stuck(waiting));
    const nowMs = this.#clock.wallMs();
    const ages = waiting.map(({ ticket }) => nowMs - Number(ticket.createdAtMs));
    this.#oldest.set(Math.max(0, ...ages) / 1000);
  }
}

import type { Clock } from "@stackwright/base/clock";
import type { Logger } from "@stackwright/base/logger";
import { type Collection, type Index, min, type Runtime } from "@stackwright/krt";
import type { StorageBackend } from "@stackwright/storage";
import { resolveTiming } from "@stackwright/storage/lease";
import { modeNameOf } from "../domain/run-modes.ts";
import { followKind } from "./follow-kind.ts";
import { WAITING_EVENTS, type WaitingEventFact } from "./outbox-facts.ts";
import type { RunFact } from "./stack-facts.ts";
import {
  type BeatFact,
  CLAIMED_STEPS,
  type ClaimedStepFact,
  followedBeats,
  POOL_TOKENS,
  type PoolTokenFact,
  WORKERS,
  type WorkerFact,
} from "./worker-facts.ts";

/** How a worker is: it has steps, it has none, or it did not renew its lease in time and counts as dead. */
type WorkerState = "busy" | "idle" | "silent";

interface RunCount {
  readonly phase: string;
  /** `command` for the runs of commands. */
  readonly mode: string;
  readonly count: number;
}

interface WorkerCount {
  /** Empty for the default one. */
  readonly pool: string;
  readonly state: WorkerState;
  readonly count: number;
}

interface CountsParts {
  readonly storage: StorageBackend;
  readonly logger: Logger;
  readonly clock: Clock;
  /** Of all projects. */
  readonly runs: Collection<RunFact>;
}

/** Between phase and mode, which are words. */
const SEPARATOR = " ";

/**
 * How much there is in the whole store of what metrics tell: as the live view has it, so that a question reads nothing. What it does not
 * know yet is undefined.
 */
export class LiveCounts {
  readonly #clock: Clock;
  readonly #ttlMs = resolveTiming().ttlMs;
  readonly #runs: Collection<{ readonly key: string; readonly size: number }>;
  readonly #workers: Collection<WorkerFact>;
  readonly #beats: Collection<BeatFact>;
  readonly #tokens: Collection<PoolTokenFact>;
  readonly #tokenOf: Index<string, PoolTokenFact>;
  readonly #claims: Collection<ClaimedStepFact>;
  readonly #claimsOf: Index<string, ClaimedStepFact>;
  readonly #outbox: Collection<WaitingEventFact>;
  readonly #oldestMs: () => number | undefined;

  constructor(rt: Runtime, { clock, runs, ...parts }: CountsParts) {
    this.#clock = clock;
    this.#runs = rt.aggregateBy(
      runs,
      { by: ({ phase, mode }) => `${phase}${SEPARATOR}${modeNameOf(mode) ?? "command"}` },
      {},
      { name: "counts of runs" },
    );
    this.#workers = followKind(rt, parts, WORKERS);
    this.#beats = followKind(rt, parts, followedBeats(clock));
    this.#tokens = followKind(rt, parts, POOL_TOKENS);
    this.#tokenOf = rt.index(this.#tokens, ({ prefix }) => prefix);
    this.#claims = followKind(rt, parts, CLAIMED_STEPS);
    this.#claimsOf = rt.index(this.#claims, ({ worker }) => worker);
    this.#outbox = followKind(rt, parts, WAITING_EVENTS);
    const oldest = rt.aggregate(
      this.#outbox,
      { sinceMs: min(({ sinceMs }: WaitingEventFact) => sinceMs) },
      { name: "oldest event that waits" },
    );
    this.#oldestMs = () => oldest.value?.values.sinceMs;
  }

  /** The runs of the store by phase and mode. */
  runs(): readonly RunCount[] | undefined {
    if (!this.#runs.synced) return undefined;
    return this.#runs.list().map(({ key, size }) => {
      const [phase = "", mode = ""] = key.split(SEPARATOR);
      return { phase, mode, count: size };
    });
  }

  /** The workers with a lease by pool and state. */
  workers(): readonly WorkerCount[] | undefined {
    const known = [this.#workers, this.#beats, this.#tokens, this.#claims];
    if (!known.every(({ synced }) => synced)) return undefined;
    const counts = new Map<string, WorkerCount>();
    for (const worker of this.#workers.list()) {
      const pool = this.#tokenOf.lookup(worker.prefix)[0]?.pool ?? "";
      const state = this.#stateOf(worker);
      const key = [pool, state].join("\0");
      counts.set(key, { pool, state, count: (counts.get(key)?.count ?? 0) + 1 });
    }
    return [...counts.values()];
  }

  /** How long the oldest event waits for a destination, in milliseconds; 0 where none does. */
  oldestEventMs(): number | undefined {
    if (!this.#outbox.synced) return undefined;
    const sinceMs = this.#oldestMs();
    return sinceMs === undefined ? 0 : Math.max(0, this.#clock.wallMs() - sinceMs);
  }

  #stateOf({ key, id }: WorkerFact): WorkerState {
    // One whose first sign of life is on its way is not dead.
    const seenMs = this.#beats.get(key)?.seenMs ?? Number.POSITIVE_INFINITY;
    if (this.#clock.monotonicMs() - seenMs >= this.#ttlMs) return "silent";
    return this.#claimsOf.lookup(id).length > 0 ? "busy" : "idle";
  }
}

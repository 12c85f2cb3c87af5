import type { Clock } from "@stackwright/base/clock";
import { StorageError, type StorageErrorDetails } from "../errors.ts";
import { readStored } from "../read-stored.ts";
import type { Resource } from "../resource.ts";
import type { Guard, StorageBackend } from "../types.ts";
import type { ResolvedTiming } from "./lease-options.ts";
import {
  type FenceHolder,
  heartbeatId,
  heartbeatResource,
  isHeartbeatOf,
  type LeaseName,
} from "./lease-records.ts";

/** What a renewal works on; plain data, so that it can be handed to another thread. */
export interface RenewalTask {
  readonly lease: LeaseName;
  readonly tenure: FenceHolder;
  /** Names the fence at the version of this tenure. */
  readonly guard: Guard;
  /** The heartbeat as it was written on acquisition. */
  readonly heartbeat: Resource;
  readonly timing: ResolvedTiming;
  /** Monotonic start of the call that acquired. */
  readonly acquiredAt: number;
}

/** What a renewal needs besides its task. */
interface RenewalParts {
  /** Opens the store on its first call, and again where that failed: it may be away for a moment. */
  readonly storage: () => Promise<StorageBackend>;
  readonly clock: Clock;
  /** Makes a token that no other write has. */
  readonly token: () => string;
  /** Called with the monotonic start of every successful renewal. */
  readonly onRenewed: (startedAt: number) => void;
  /** Called once when the tenure is over, or too much time has passed to be sure that it is not. */
  readonly onLost: (error: StorageError) => void;
}

// A renewal is a write of the heartbeat, guarded by the fence: it fails for good once the fence has
// moved. Its success proves that the tenure lasted at some moment after its start, so the holder may
// count on `stopMs` from that start; a thief counts `ttlMs` from the moment when it first saw the
// version that the renewal wrote, which is later. An answer that was lost is no success: the next
// attempt first looks which version is stored. Only the holder writes heartbeats of its tenure,
// so any that it finds is its own. An answer that is late is waited for no longer than leaves time for
// another attempt, as a store whose leader was lost may never give it; where it comes after all, it counts.

/** What a store says where the fence has moved, or the heartbeat is another worker's. */
const TAKEN: ReadonlySet<string> = new Set([
  "STORAGE_GUARD_FAILED",
  "STORAGE_LEASE_LOST",
  "STORAGE_WRONG_UID",
]);

/**
 * What may pass before the deadline: the store is away for the moment, an attempt from before came through late, or rights and
 * passwords are being changed, which is not done in one step everywhere.
 */
const PASSING: ReadonlySet<string> = new Set([
  "STORAGE_INCONSISTENT",
  "STORAGE_CAS_FAILURE",
  "STORAGE_PERMISSION_DENIED",
]);

/**
 * Whether a renewal that failed is worth another attempt. A token that ended, as that of a step whose claim another worker has, comes
 * to life no more: its holder stops at once.
 */
export function mayPass({
  code,
  details,
}: Partial<Pick<StorageError, "code" | "details">>): boolean {
  if (code === "STORAGE_PERMISSION_DENIED" && details?.field === "token") return false;
  return code !== undefined && PASSING.has(code);
}

/** Keeps one tenure alive until it is stopped or lost. */
export class Renewal {
  readonly #task: RenewalTask;
  readonly #parts: RenewalParts;
  #heartbeat: Resource;
  #renewedAt: number;
  /** Whether the stored version is not known, as an answer was lost. */
  #doubtful = false;
  /** Of the last attempt, where it failed. */
  #failure: StorageError | undefined;
  #next: Disposable | undefined;
  #deadline: Disposable | undefined;
  #running: Promise<void> | undefined;
  /** Whether the attempt that is under way still waits for the store: it has sent nothing. */
  #isOpening = false;
  #over = false;

  constructor(task: RenewalTask, parts: RenewalParts) {
    this.#task = task;
    this.#parts = parts;
    this.#heartbeat = task.heartbeat;
    this.#renewedAt = task.acquiredAt;
  }

  /** Starts to renew. */
  start(): void {
    this.#watchDeadline();
    // What passed since it was acquired counts: the deadline does not wait for a thread that was loaded meanwhile.
    const { acquiredAt, timing } = this.#task;
    this.#plan(Math.max(0, acquiredAt + timing.renewMs - this.#parts.clock.monotonicMs()));
  }

  /**
   * Ends without a loss; resolves when nothing is sent to the store any more. Neither a store that is being opened is waited for, as that
   * has no end of its own where the store does not answer, nor an answer that is late: the write is refused once the fence is another one.
   */
  async stop(): Promise<void> {
    this.#end();
    if (!this.#isOpening) await this.#running;
  }

  #plan(delayMs: number): void {
    this.#next = this.#parts.clock.after(delayMs, () => {
      this.#running = this.#attempt().finally(() => {
        this.#running = undefined;
      });
    });
  }

  async #attempt(): Promise<void> {
    const { clock } = this.#parts;
    const startedAt = clock.monotonicMs();
    const { renewMs, stopMs } = this.#task.timing;
    try {
      await this.#renew(startedAt);
      if (this.#over) return;
      this.#failure = undefined;
      this.#plan(renewMs - (clock.monotonicMs() - startedAt));
    } catch (error) {
      if (this.#over) return;
      const failure = StorageError.from(error);
      if (mayPass(failure)) {
        // The deadline runs on.
        this.#failure = failure;
        this.#plan(Math.min(renewMs, (stopMs - renewMs) / 8));
      } else if (TAKEN.has(failure.code)) {
        this.#lose("taken", "another worker took the lease", failure);
      } else {
        this.#lose("refused", `the lease could not be renewed: ${failure.message}`, failure);
      }
    }
  }

  async #renew(startedAt: number): Promise<void> {
    const { token } = this.#parts;
    const storage = await this.#open();
    if (this.#over) return;
    const { lease, tenure, guard } = this.#task;
    if (this.#doubtful) {
      const stored = await this.#inTime(readStored(storage, "strong", heartbeatId(lease)));
      if (stored === undefined || !isHeartbeatOf(stored, tenure)) {
        throw new StorageError("STORAGE_LEASE_LOST", "the heartbeat is another worker's");
      }
      this.#heartbeat = stored;
    }
    this.#doubtful = true;
    const next = heartbeatResource(lease, this.#heartbeat, tenure, token());
    const written = storage.writeCAS(next, { guards: [guard] });
    void written.then(
      () => this.#confirm(startedAt),
      () => undefined,
    );
    this.#heartbeat = await this.#inTime(written);
    this.#doubtful = false;
  }

  /** Counts on the lease from the start of an attempt whose write is stored. */
  #confirm(startedAt: number): void {
    if (this.#over || startedAt < this.#renewedAt) return;
    this.#renewedAt = startedAt;
    this.#parts.onRenewed(startedAt);
    this.#watchDeadline();
  }

  /** The answer of the store, unless it is so late that another attempt is worth more. */
  async #inTime<T>(answer: Promise<T>): Promise<T> {
    const { renewMs, stopMs } = this.#task.timing;
    const limitMs = (stopMs - renewMs) / 2;
    const late = Promise.withResolvers<never>();
    using _ = this.#parts.clock.after(limitMs, () => {
      const message = `the store gave no answer within ${Math.round(limitMs)} ms`;
      late.reject(
        new StorageError("STORAGE_INCONSISTENT", message, { details: { outcome: "unknown" } }),
      );
    });
    return await Promise.race([answer, late.promise]);
  }

  async #open(): Promise<StorageBackend> {
    this.#isOpening = true;
    try {
      return await this.#parts.storage();
    } finally {
      this.#isOpening = false;
    }
  }

  #watchDeadline(): void {
    const { clock } = this.#parts;
    this.#deadline?.[Symbol.dispose]();
    const left = this.#renewedAt + this.#task.timing.stopMs - clock.monotonicMs();
    this.#deadline = clock.after(left, () => {
      const why = this.#failure === undefined ? "" : `: ${this.#failure.message}`;
      this.#lose("late", `the lease could not be renewed in time${why}`, this.#failure);
    });
  }

  #lose(lost: NonNullable<StorageErrorDetails["lost"]>, message: string, cause: unknown): void {
    if (this.#over) return;
    this.#end();
    this.#parts.onLost(
      new StorageError("STORAGE_LEASE_LOST", message, { cause, details: { lost } }),
    );
  }

  #end(): void {
    this.#over = true;
    this.#next?.[Symbol.dispose]();
    this.#deadline?.[Symbol.dispose]();
  }
}

import { type Clock, sleep } from "@stackwright/base/clock";
import {
  type BatchOperation,
  isStorageError,
  type Resource,
  readStored,
  type StorageBackend,
  StorageError,
} from "@stackwright/storage";
import type { Lease } from "@stackwright/storage/lease";
import { EngineError } from "../errors.ts";

const FIRST_PAUSE_MS = 20;
const LONGEST_PAUSE_MS = 1_000;
const NOT_RENEWED = "the lease could not be renewed in time";

/**
 * How long the store may refuse by rights or passwords, which are not changed in one step everywhere: as long as a lease outlives it by
 * default. Not as long as the lease, since a token may cover the lease and not what is written.
 */
const REFUSED_MS = 10_000;

// A write whose answer was lost may have happened, may happen later, or may never happen. All three are resolved alike:
//
//   - every attempt carries the same generation and expects the same versions, so at most one of them can succeed;
//   - a read that finds this generation (or, for a delete, nothing) has found that success;
//   - a read that finds the expected version may try again: an earlier attempt that arrives late then fails;
//   - any other version under a held fence was written by a process that does not respect it.
//
// The first operation of a batch represents all, as they happen together. Attempts end with the lease: an attempt that
// arrives after the fence moved fails by its guard.

/** Writes under a lease, each at most once, and determines with certainty whether it happened. */
export class FencedWriter {
  /** Aborts when no further write can succeed. */
  readonly signal: AbortSignal;
  readonly #storage: StorageBackend;
  readonly #lease: Lease;
  readonly #scheduler: Clock;
  readonly #broken = new AbortController();
  /** Why the store refused the last write, such as a full disk. */
  #refusal: StorageError | undefined;
  /** Since when the store refuses by rights. */
  #refusedAt: number | undefined;

  constructor(storage: StorageBackend, lease: Lease, scheduler: Clock) {
    this.#storage = storage;
    this.#lease = lease;
    this.#scheduler = scheduler;
    this.signal = AbortSignal.any([this.#broken.signal, lease.signal]);
  }

  /**
   * All operations in one atomic step. Resolves with the stored resource per write. `ENGINE_FENCE_LOST`: nothing more
   * can be written; `ENGINE_STATE_CORRUPT`: another process wrote without the fence; both are final. Other errors are
   * `StorageError` and mean that nothing was written.
   */
  async write(operations: readonly BatchOperation[]): Promise<readonly (Resource | undefined)[]> {
    let pause = FIRST_PAUSE_MS;
    for (let lost = false; ; ) {
      this.assertHeld();
      try {
        const stored = await this.#attempt(operations);
        this.#refusal = undefined;
        this.#refusedAt = undefined;
        return stored;
      } catch (thrown) {
        const error = StorageError.from(thrown);
        this.#refusal = isRefusal(error) ? error : undefined;
        if (error.code === "STORAGE_GUARD_FAILED") throw this.#break(fenceLost(error));
        const conflict = error.code === "STORAGE_CAS_FAILURE" || error.code === "STORAGE_WRONG_UID";
        if (!conflict && !this.#mayPass(error)) throw error;
        lost ||= !conflict && error.details.outcome !== "not-applied";
        // Guards are judged before versions, so a conflict that was answered says that the fence is still ours.
        if (conflict && !lost) throw this.#break(intruder(operations, error));
        const found = lost ? await this.#look(operations) : "open";
        if (found === "done") return this.#stored(operations);
        if (found === "conflict") throw this.#break(await this.#blame(operations, error));
      }
      await sleep(this.#scheduler, pause, this.signal).catch(() => this.assertHeld());
      pause = Math.min(LONGEST_PAUSE_MS, pause * 2);
    }
  }

  /** `ENGINE_FENCE_LOST` unless the lease is held, by the clock. */
  assertHeld(): void {
    if (this.#broken.signal.aborted) throw this.#broken.signal.reason;
    if (this.#lease.isHeld()) return;
    const { signal } = this.#lease;
    // By the clock it can be over before its own timer says so: then no renewal was answered in time.
    // The same refusal kept the lease from being renewed, and is what the user can do something about.
    const cause: unknown = signal.aborted ? signal.reason : undefined;
    if (this.#refusal !== undefined && (cause === undefined || isNotRenewed(cause))) {
      throw this.#break(rightLost(`${NOT_RENEWED}: ${this.#refusal.message}`, this.#refusal));
    }
    throw this.#break(cause === undefined ? rightLost(NOT_RENEWED) : fenceLost(cause));
  }

  async #attempt(
    operations: readonly BatchOperation[],
  ): Promise<readonly (Resource | undefined)[]> {
    const options = { guards: [this.#lease.guard] };
    const [first] = operations;
    if (first === undefined) return [];
    if (operations.length > 1) return this.#storage.batch(operations, options);
    if (first.kind === "write") return [await this.#storage.writeCAS(first.resource, options)];
    await this.#storage.deleteCAS(first.id, first.version, options);
    return [undefined];
  }

  /** Whether the operations happened, may still be tried, or can no longer happen. */
  async #look(operations: readonly BatchOperation[]): Promise<"done" | "open" | "conflict"> {
    const [first] = operations;
    if (first === undefined) return "done";
    const id = first.kind === "write" ? first.resource.id : first.id;
    let stored: Resource | undefined;
    try {
      stored = await readStored(this.#storage, "strong", { ...id, uid: "" });
    } catch (error) {
      if (this.#mayPass(error)) return "open";
      throw error;
    }
    if (first.kind === "delete") {
      if (stored === undefined) return "done";
      return stored.version === first.version ? "open" : "conflict";
    }
    if (stored?.generation === first.resource.generation) return "done";
    return (stored?.version ?? "") === first.resource.version ? "open" : "conflict";
  }

  /** The cause of an unexpected version: a write of the next holder of the fence, or of a process without it. */
  async #blame(operations: readonly BatchOperation[], cause: unknown): Promise<EngineError> {
    const { guard } = this.#lease;
    const fence = await readStored(this.#storage, "strong", { ...guard.id, uid: "" }).catch(
      () => undefined,
    );
    return fence?.version === guard.version ? intruder(operations, cause) : fenceLost(cause);
  }

  /** The resources as a batch that happened has stored them. */
  async #stored(operations: readonly BatchOperation[]): Promise<readonly (Resource | undefined)[]> {
    return Promise.all(
      operations.map(async (operation) => {
        if (operation.kind === "delete") return undefined;
        for (;;) {
          try {
            return await readStored(this.#storage, "strong", { ...operation.resource.id, uid: "" });
          } catch (error) {
            if (!this.#mayPass(error)) throw error;
            this.assertHeld();
            await sleep(this.#scheduler, FIRST_PAUSE_MS, this.signal).catch(() =>
              this.assertHeld(),
            );
          }
        }
      }),
    );
  }

  /** Whether a call that failed is worth another attempt: the store is away for the moment, or refuses for now. */
  #mayPass(error: unknown): boolean {
    if (isStorageError(error, "STORAGE_INCONSISTENT")) return true;
    if (!isStorageError(error, "STORAGE_PERMISSION_DENIED")) return false;
    const now = this.#scheduler.monotonicMs();
    this.#refusedAt ??= now;
    return now - this.#refusedAt < REFUSED_MS;
  }

  #break(error: EngineError): EngineError {
    this.#broken.abort(error);
    return error;
  }
}

/** Whether a store has certainly not written, and may later. */
function isRefusal({ code, details }: StorageError): boolean {
  return (
    code === "STORAGE_PERMISSION_DENIED" ||
    (code === "STORAGE_INCONSISTENT" && details.outcome === "not-applied")
  );
}

function isNotRenewed(cause: unknown): boolean {
  return isStorageError(cause, "STORAGE_LEASE_LOST") && cause.details.lost === "late";
}

function fenceLost(cause: unknown): EngineError {
  // A lease ends because another worker has it, or because the store was not reachable: the two have different
  // remedies.
  if (isStorageError(cause, "STORAGE_LEASE_LOST")) return rightLost(cause.message, cause);
  return new EngineError("ENGINE_FENCE_LOST", undefined, { cause });
}

function rightLost(why: string, cause?: unknown): EngineError {
  const text = `the right to write to the stack was lost: ${why}`;
  return new EngineError("ENGINE_FENCE_LOST", text, { cause });
}

function intruder(operations: readonly BatchOperation[], cause: unknown): EngineError {
  const names = operations.map((operation) =>
    operation.kind === "write" ? operation.resource.id.name : operation.id.name,
  );
  return new EngineError(
    "ENGINE_STATE_CORRUPT",
    `a write without the current fence was found on ${names.join(", ")}`,
    { cause },
  );
}

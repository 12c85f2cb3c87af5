import { isStorageError, type Scheduler, sleep } from "@stackwright/storage";
import { RegistryError } from "../errors.ts";

/**
 * Lets tasks with the same key run one after the other in this process. It only saves collisions:
 * what keeps several processes apart is the comparison of versions in the store.
 */
export class Turns {
  readonly #last = new Map<string, Promise<void>>();

  /** Keys whose tasks run or wait; nothing is kept of others. */
  get keys(): number {
    return this.#last.size;
  }

  async run<T>(key: string, task: () => Promise<T>): Promise<T> {
    const before = this.#last.get(key) ?? Promise.resolve();
    const { promise: done, resolve: finish } = Promise.withResolvers<void>();
    this.#last.set(key, done);
    try {
      await before;
      return await task();
    } finally {
      finish();
      if (this.#last.get(key) === done) this.#last.delete(key);
    }
  }
}

const ATTEMPTS = 24;
const FIRST_PAUSE_MS = 2;
const LONGEST_PAUSE_MS = 250;

/**
 * Repeats a read-and-write while others get in between, with growing, random pauses. A task whose
 * write was lost on the way is repeated too, so it has to recognise what it wrote itself.
 *
 * Rejects with `REGISTRY_CONTENTION` after {@link ATTEMPTS} attempts.
 */
export async function retryCollisions<T>(
  scheduler: Scheduler,
  signal: AbortSignal | undefined,
  task: () => Promise<T>,
): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await task();
    } catch (error) {
      if (!isCollision(error)) throw error;
      if (attempt === ATTEMPTS) {
        throw new RegistryError("REGISTRY_CONTENTION", undefined, { cause: error });
      }
      const ceiling = Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** attempt);
      await sleep(scheduler, Math.random() * ceiling, signal);
    }
  }
}

/** Whether a write failed because of what others did meanwhile, or its answer was lost. */
export function isCollision(error: unknown): boolean {
  return (
    isStorageError(error, "STORAGE_CAS_FAILURE") ||
    isStorageError(error, "STORAGE_WRONG_UID") ||
    isStorageError(error, "STORAGE_GUARD_FAILED") ||
    (isStorageError(error, "STORAGE_INCONSISTENT") && error.details.outcome === "unknown")
  );
}

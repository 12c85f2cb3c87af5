import type { Place } from "../domain/run-places.ts";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
import { type ListenParts, listen } from "../queue/listen.ts";

/**
 * Says when a log has grown: one watch of the store for all readers of this server. It only notifies, and readers look by
 * themselves from time to time, so that a lost event delays them and nothing else.
 */
export class LogBell implements AsyncDisposable {
  readonly #waiting = new Map<string, Set<() => void>>();
  readonly #ending = new AbortController();
  readonly #listening: Promise<void>;

  constructor(parts: ListenParts) {
    const ring = (place: Place): void => {
      for (const done of this.#waiting.get(keyOf(place)) ?? []) done();
    };
    this.#listening = listen(parts, SERVER_KINDS.log.type, ring, this.#ending.signal);
  }

  /** Resolves when the log at the place has changed, or the signal aborts. */
  async rung(place: Place, signal: AbortSignal): Promise<void> {
    const key = keyOf(place);
    await new Promise<void>((resolve) => {
      const set = this.#waiting.get(key) ?? new Set();
      this.#waiting.set(key, set);
      const done = (): void => {
        set.delete(done);
        if (set.size === 0) this.#waiting.delete(key);
        signal.removeEventListener("abort", done);
        resolve();
      };
      set.add(done);
      signal.addEventListener("abort", done, { once: true });
      if (signal.aborted) done();
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#ending.abort();
    await this.#listening;
  }
}

function keyOf({ tenancy, name }: Place): string {
  return [tenancy.partition, tenancy.namespace, name].join("\0");
}

import { type Clock, sleep } from "@stackwright/base/clock";
import type { Logger } from "@stackwright/base/logger";
import { type StorageBackend, WILDCARD } from "@stackwright/storage";
import type { Place } from "../domain/run-places.ts";
import { SERVER_KINDS } from "../domain/server-kinds.ts";

interface LogBellParts {
  readonly storage: StorageBackend;
  readonly clock: Clock;
  readonly logger: Logger;
}

/**
 * Says when a log has grown: one watch of the store for all readers of this server. It only notifies, and readers look by
 * themselves from time to time, so that a lost event delays them and nothing else.
 */
export class LogBell implements AsyncDisposable {
  readonly #waiting = new Map<string, Set<() => void>>();
  readonly #ending = new AbortController();
  readonly #listening: Promise<void>;

  constructor(parts: LogBellParts) {
    this.#listening = this.#listen(parts);
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

  async #listen({ storage, clock, logger }: LogBellParts): Promise<void> {
    const { signal } = this.#ending;
    const { type } = SERVER_KINDS.log;
    const anywhere = { partition: WILDCARD, peerName: WILDCARD, namespace: WILDCARD };
    while (!signal.aborted) {
      try {
        using watch = await storage.watchList(type, anywhere, "", { signal });
        for (;;) {
          const event = await watch.next({ signal });
          if (event.operation !== "upsert") continue;
          for (const done of this.#waiting.get(keyOf(event.resource.id)) ?? []) done();
        }
      } catch (error) {
        if (signal.aborted) return;
        logger.warn({ err: error }, "the watch of the logs ended and is opened again");
        await sleep(clock, 1_000, signal).catch(() => undefined);
      }
    }
  }
}

function keyOf({ tenancy, name }: Place): string {
  return [tenancy.partition, tenancy.namespace, name].join("\0");
}

import { Bell } from "../bell.ts";
import type { Place } from "../domain/run-places.ts";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
import { type ListenParts, listen } from "../queue/listen.ts";

/**
 * Says when a log has grown: one watch of the store for all readers of this server. It only notifies, and readers look by
 * themselves from time to time, so that a lost event delays them and nothing else.
 */
export class LogBell implements AsyncDisposable {
  readonly #bells = new Map<string, Bell>();
  readonly #ending = new AbortController();
  readonly #listening: Promise<void>;

  constructor(parts: ListenParts) {
    const ring = (place: Place): void => this.#bells.get(keyOf(place))?.ring();
    this.#listening = listen(parts, SERVER_KINDS.log.type, ring, this.#ending.signal);
  }

  /** Resolves when the log at the place has changed, or the signal aborts. */
  async rung(place: Place, signal: AbortSignal): Promise<void> {
    const key = keyOf(place);
    const bell = this.#bells.get(key) ?? new Bell();
    this.#bells.set(key, bell);
    await bell.rung(signal);
    if (!bell.isAwaited && this.#bells.get(key) === bell) this.#bells.delete(key);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#ending.abort();
    await this.#listening;
  }
}

function keyOf({ tenancy, name }: Place): string {
  return [tenancy.partition, tenancy.namespace, name].join("\0");
}

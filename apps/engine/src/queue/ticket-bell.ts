import { SERVER_KINDS } from "../domain/server-kinds.ts";
import { type ListenParts, listen } from "./listen.ts";

/** Says when a ticket was written: one watch of the store for all requests of remote workers that wait for one. */
export class TicketBell implements AsyncDisposable {
  readonly #waiting = new Set<() => void>();
  readonly #ending = new AbortController();
  readonly #listening: Promise<void>;

  constructor(parts: ListenParts) {
    const ring = (): void => {
      for (const done of this.#waiting) done();
    };
    this.#listening = listen(parts, SERVER_KINDS.ticket.type, ring, this.#ending.signal);
  }

  /** Resolves when a ticket was written after the call, or the signal aborts. */
  async rung(signal: AbortSignal): Promise<void> {
    await new Promise<void>((resolve) => {
      const done = (): void => {
        this.#waiting.delete(done);
        signal.removeEventListener("abort", done);
        resolve();
      };
      this.#waiting.add(done);
      signal.addEventListener("abort", done, { once: true });
      if (signal.aborted) done();
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#ending.abort();
    await this.#listening;
  }
}

import { Bell } from "../bell.ts";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
import { type ListenParts, listen } from "./listen.ts";

/** Says when a ticket was written: one watch of the store for all requests of remote workers that wait for one. */
export class TicketBell implements AsyncDisposable {
  readonly #bell = new Bell();
  readonly #ending = new AbortController();
  readonly #listening: Promise<void>;

  constructor(parts: ListenParts) {
    const ring = (): void => this.#bell.ring();
    this.#listening = listen(parts, SERVER_KINDS.ticket.type, ring, this.#ending.signal);
  }

  /** Resolves when a ticket was written after the call, or the signal aborts. */
  async rung(signal: AbortSignal): Promise<void> {
    await this.#bell.rung(signal);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#ending.abort();
    await this.#listening;
  }
}

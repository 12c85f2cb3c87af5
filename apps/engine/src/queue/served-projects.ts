import type { Clock } from "@stackwright/base/clock";
import type { ListedTicket } from "./choose-ticket.ts";
import { shareOf } from "./project-share.ts";

/** Projects that are remembered, each for its pools. */
const MAX_REMEMBERED = 10_000;

/**
 * How long ago projects were given a step, as this process saw it: by its own claims, and by those of others between two looks at the
 * tickets. Without it a project with more tickets than steps are executed at a time would have each step that becomes free, as its
 * next ticket is older than those of others. A process that starts knows nothing, and so begins with the oldest tickets.
 */
export class ServedProjects {
  readonly #clock: Pick<Clock, "monotonicMs">;
  /** When, by share; the one that was served last is at the end. */
  readonly #servedAt = new Map<string, number>();
  /** Tokens of the claims that were seen by the last look. */
  #seen: ReadonlySet<string> = new Set();

  constructor(clock: Pick<Clock, "monotonicMs">) {
    this.#clock = clock;
  }

  /** Looks at all tickets: claims that were not there before are of now. */
  observe(tickets: readonly ListedTicket[]): void {
    const seen = new Set<string>();
    for (const one of tickets) {
      const { claim } = one.ticket;
      if (claim === undefined) continue;
      const name = `${one.id.name} ${claim.tokenDigest}`;
      seen.add(name);
      if (!this.#seen.has(name)) this.serve(one);
    }
    this.#seen = seen;
  }

  /** Notes that a ticket was claimed. */
  serve(ticket: ListedTicket): void {
    const share = shareOf(ticket);
    this.#servedAt.delete(share);
    this.#servedAt.set(share, this.#clock.monotonicMs());
    const [oldest] = this.#servedAt.keys();
    if (this.#servedAt.size > MAX_REMEMBERED && oldest !== undefined) {
      this.#servedAt.delete(oldest);
    }
  }

  /** How many milliseconds ago the project of a ticket was given a step of its pool; infinite where none was seen. */
  ago(ticket: ListedTicket): number {
    const at = this.#servedAt.get(shareOf(ticket));
    return at === undefined ? Number.POSITIVE_INFINITY : this.#clock.monotonicMs() - at;
  }
}

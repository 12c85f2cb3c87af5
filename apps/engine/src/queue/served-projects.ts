import type { Clock } from "@stackwright/base/clock";
import type { ListedTicket, ServedSteps } from "./choose-ticket.ts";
import { shareOf } from "./project-share.ts";
import { classOfTicket } from "./ticket-class.ts";

/** What is remembered: projects, and classes of their steps, each for its pools. */
const MAX_REMEMBERED = 20_000;

/** How long a claim that was noted here is not noted again, where a list of tickets is behind. */
const OWN_MS = 10_000;

/**
 * How long ago projects were given a step, as this process saw it: by its own claims, and by those of others between two looks at the
 * tickets. Without it a project with more tickets than steps are executed at a time would have each step that becomes free, as its
 * next ticket is older than those of others. A process that starts knows nothing, and so begins with the oldest tickets.
 */
export class ServedProjects implements ServedSteps {
  readonly #clock: Pick<Clock, "monotonicMs">;
  /** When, by share, and by share and class; what was served last is at the end. */
  readonly #servedAt = new Map<string, number>();
  /** Tokens of the claims that were seen by the last look. */
  #seen: ReadonlySet<string> = new Set();
  /** When tickets were claimed here that were not seen with a claim since then. */
  readonly #own = new Map<string, number>();

  constructor(clock: Pick<Clock, "monotonicMs">) {
    this.#clock = clock;
  }

  /** Looks at all tickets: claims that were not there before are of now. */
  observe(tickets: readonly ListedTicket[]): void {
    const seen = new Set<string>();
    const now = this.#clock.monotonicMs();
    for (const [name, at] of this.#own) if (now - at >= OWN_MS) this.#own.delete(name);
    for (const one of tickets) {
      const { claim } = one.ticket;
      if (claim === undefined) continue;
      const name = `${one.id.name} ${claim.tokenDigest}`;
      seen.add(name);
      const isOwn = this.#own.delete(one.id.name);
      if (!this.#seen.has(name) && !isOwn) this.#note(one);
    }
    this.#seen = seen;
  }

  /** Notes that a ticket was claimed. */
  serve(ticket: ListedTicket): void {
    this.#own.set(ticket.id.name, this.#clock.monotonicMs());
    this.#note(ticket);
  }

  ago(ticket: ListedTicket): number {
    return this.#since(shareOf(ticket));
  }

  agoOfClass(ticket: ListedTicket): number {
    return this.#since(classShareOf(ticket));
  }

  #note(ticket: ListedTicket): void {
    for (const name of [shareOf(ticket), classShareOf(ticket)]) {
      this.#servedAt.delete(name);
      this.#servedAt.set(name, this.#clock.monotonicMs());
    }
    for (const name of this.#servedAt.keys()) {
      if (this.#servedAt.size <= MAX_REMEMBERED) break;
      this.#servedAt.delete(name);
    }
  }

  /** Infinite for what was never served. */
  #since(name: string): number {
    const at = this.#servedAt.get(name);
    return at === undefined ? Number.POSITIVE_INFINITY : this.#clock.monotonicMs() - at;
  }
}

function classShareOf(ticket: ListedTicket): string {
  return `${shareOf(ticket)} ${classOfTicket(ticket.ticket)}`;
}

import type { Logger } from "@stackwright/base/logger";
import type { CallOptions, Resource, ResourceId } from "@stackwright/storage";
import { Bell } from "../bell.ts";
import { decodeRecord } from "../domain/record-kind.ts";
import { DEFAULT_POOL } from "../domain/run-places.ts";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
import type { ListedTicket } from "./choose-ticket.ts";
import { type Mirror, type MirrorParts, mirrorKind } from "./mirror-kind.ts";
import { listTickets } from "./sweep.ts";
import { untilAborted } from "./until-aborted.ts";

// The board is for choosing. A watch may lag, or be silent, so a ticket of the board may be gone or claimed, and one may be
// missing. A claim is safe all the same: it reads its ticket itself. Workers that wait list the store from time to time, from which the
// board learns what its watch missed. Taking a claim from another worker, or giving one back, goes by a list of the store alone.

/** The tickets of all projects as one watch of the store has them, so that the choice of the next step reads none of them from the store. */
export class TicketBoard implements AsyncDisposable {
  readonly #parts: MirrorParts;
  readonly #bell = new Bell();
  readonly #ending = new AbortController();
  readonly #following: Promise<void>;
  #mirror: TicketMirror | undefined;
  /** A list of the store that is being read, and one that begins when it has ended. */
  #listing: Promise<readonly ListedTicket[]> | undefined;
  #nextListing: Promise<readonly ListedTicket[]> | undefined;

  constructor(parts: MirrorParts) {
    this.#parts = parts;
    const onFree = (mirror: TicketMirror): void => {
      if (mirror === this.#mirror) this.#bell.ring();
    };
    this.#following = mirrorKind(
      parts,
      SERVER_KINDS.ticket.type,
      {
        create: () => new TicketMirror(parts.logger, onFree),
        onSynced: (mirror) => {
          this.#mirror = mirror;
          this.#bell.ring();
        },
        onChange: () => undefined,
      },
      this.#ending.signal,
    );
  }

  /** The tickets that can be read; of the store, as long as the watch has not delivered all of them. */
  async list(options?: CallOptions): Promise<readonly ListedTicket[]> {
    return this.#mirror?.list() ?? listTickets(this.#parts, options);
  }

  /**
   * The tickets of the store as they are at some time after the call; those that the watch said nothing of meanwhile replace what the board
   * had. All that ask while a list is read share the next one, which continues where one of them no longer waits.
   */
  async listStored({ signal }: Pick<CallOptions, "signal"> = {}): Promise<readonly ListedTicket[]> {
    return untilAborted(this.#shareListing(), signal);
  }

  async #shareListing(): Promise<readonly ListedTicket[]> {
    // One that waits for its turn has not begun, also where the former one has just ended.
    if (this.#nextListing !== undefined) return this.#nextListing;
    if (this.#listing === undefined) return this.#beginListing();
    this.#nextListing = this.#listing
      .catch(() => undefined)
      .then(async () => {
        this.#nextListing = undefined;
        return this.#beginListing();
      });
    return this.#nextListing;
  }

  async #beginListing(): Promise<readonly ListedTicket[]> {
    const listing = this.#listStored();
    this.#listing = listing;
    try {
      return await listing;
    } finally {
      if (this.#listing === listing) this.#listing = undefined;
    }
  }

  async #listStored(): Promise<readonly ListedTicket[]> {
    const mirror = this.#mirror;
    mirror?.beginCorrection();
    const listed = await listTickets(this.#parts, { signal: this.#ending.signal });
    mirror?.correct(listed);
    return listed;
  }

  /** Resolves when a ticket that no worker has was written after the call, or the signal aborts. */
  async rung(signal: AbortSignal): Promise<void> {
    await this.#bell.rung(signal);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#ending.abort();
    await this.#following;
  }
}

class TicketMirror implements Mirror {
  readonly #logger: Logger;
  readonly #onFree: (mirror: TicketMirror) => void;
  readonly #tickets = new Map<string, ListedTicket>();
  /** What was written since the correction began. */
  #written: Set<string> | undefined;

  constructor(logger: Logger, onFree: (mirror: TicketMirror) => void) {
    this.#logger = logger;
    this.#onFree = onFree;
  }

  list(): readonly ListedTicket[] {
    return [...this.#tickets.values()];
  }

  set(resource: Resource): void {
    const { id } = resource;
    if (!id.name.startsWith(`${DEFAULT_POOL}.`)) return;
    this.#note(keyOf(id));
    try {
      const ticket = decodeRecord(SERVER_KINDS.ticket, resource);
      this.#tickets.set(keyOf(id), { id, ticket });
      if (ticket.claim === undefined) this.#onFree(this);
    } catch (error) {
      this.#tickets.delete(keyOf(id));
      this.#logger.warn({ name: id.name, err: error }, "a ticket is damaged");
    }
  }

  delete({ id }: Resource): void {
    this.#note(keyOf(id));
    this.#tickets.delete(keyOf(id));
  }

  /** Begins to note what is written while the store is listed, which the list may not have. */
  beginCorrection(): void {
    this.#written = new Set();
  }

  correct(listed: readonly ListedTicket[]): void {
    const written = this.#written ?? new Set();
    this.#written = undefined;
    const found = new Set<string>();
    for (const one of listed) {
      const key = keyOf(one.id);
      found.add(key);
      if (!written.has(key)) this.#correctOne(key, one);
    }
    for (const key of this.#tickets.keys()) {
      if (!found.has(key) && !written.has(key)) this.#tickets.delete(key);
    }
  }

  #correctOne(key: string, one: ListedTicket): void {
    const before = this.#tickets.get(key);
    this.#tickets.set(key, one);
    const wasFree = before !== undefined && before.ticket.claim === undefined;
    if (!wasFree && one.ticket.claim === undefined) this.#onFree(this);
  }

  #note(key: string): void {
    this.#written?.add(key);
  }
}

function keyOf({ tenancy, name }: ResourceId): string {
  return `${tenancy.partition}/${tenancy.namespace}/${name}`;
}

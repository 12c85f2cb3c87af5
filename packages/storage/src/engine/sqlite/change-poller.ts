import { StorageError } from "../../errors.ts";
import type { EventFeed } from "../../feed/event-feed.ts";
import { eventCommit } from "./event-commit.ts";
import type { StoreClient } from "./store-client.ts";

/** Events fetched at a time. */
const PAGE = 1_000;

/**
 * Feeds the watches of a read-only instance from the history that the writing process keeps in the
 * file. It runs while there are watches; when the history it needs is gone, or the content was
 * replaced, it closes them.
 */
export class ChangePoller {
  readonly #client: StoreClient;
  readonly #feed: EventFeed;
  readonly #pollMs: number;
  #timer: NodeJS.Timeout | undefined;
  #running = false;
  #stopped = false;
  #polling: Promise<void> | undefined;
  /** Everything up to here was published. */
  #position: { readonly epoch: string; readonly revision: number } | undefined;

  constructor(client: StoreClient, feed: EventFeed, pollMs: number) {
    this.#client = client;
    this.#feed = feed;
    this.#pollMs = pollMs;
  }

  /**
   * Starts polling unless it runs already. The position is asked for before this returns, so it is
   * not behind that of a snapshot that is asked for afterwards.
   */
  start(): void {
    if (this.#running || this.#stopped) return;
    this.#running = true;
    this.#position = undefined;
    void this.#poll();
  }

  stop(): void {
    this.#stopped = true;
    clearTimeout(this.#timer);
  }

  /** Publishes what is committed at this moment. The poll that runs may have begun before that, the next one has not. */
  async catchUp(): Promise<void> {
    await this.#polling;
    if (this.#stopped || !this.#running) return;
    clearTimeout(this.#timer);
    await this.#poll();
  }

  #poll(): Promise<void> {
    this.#polling ??= this.#pollOnce().finally(() => {
      this.#polling = undefined;
    });
    return this.#polling;
  }

  async #pollOnce(): Promise<void> {
    try {
      while (await this.#fetch());
    } catch (error) {
      const { message } = StorageError.from(error);
      this.#position = undefined;
      this.#feed.closeAll(new StorageError("STORAGE_WATCH_CLOSED", message, { cause: error }));
    }
    if (this.#feed.size === 0 || this.#stopped) {
      this.#running = false;
      return;
    }
    this.#timer = setTimeout(() => void this.#poll(), this.#pollMs);
  }

  /** Publishes a page of commits; true when there may be another. */
  async #fetch(): Promise<boolean> {
    const from = this.#position;
    const { epoch, revision, events } = await this.#client.call("changes", {
      after: from?.revision,
      limit: PAGE,
    });
    if (from === undefined) {
      this.#position = { epoch, revision };
      return false;
    }
    if (epoch !== from.epoch || events === undefined) {
      this.#position = { epoch, revision };
      this.#feed.closeAll(
        new StorageError("STORAGE_WATCH_CLOSED", "the history is gone or was replaced"),
      );
      return false;
    }
    for (const event of events) this.#feed.publish(eventCommit(event, epoch));
    const position = events.at(-1)?.revision ?? from.revision;
    this.#position = { epoch, revision: position };
    this.#feed.isWhole = position >= revision;
    return position < revision;
  }
}

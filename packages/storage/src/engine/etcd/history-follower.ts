import { setTimeout as delay } from "node:timers/promises";
import type { Logger } from "@stackwright/base/logger";
import { StorageError } from "../../errors.ts";
import { formatCursor } from "../../feed/cursor.ts";
import type { EventFeed } from "../../feed/event-feed.ts";
import type { EtcdClient } from "./etcd-client.ts";
import { type HistoryStreamOptions, historyStream } from "./history-stream.ts";

/** How often the server is asked how far it has come, so that a quiet store is not compacted past. */
const PROGRESS_MS = 30_000;

/** How long an answer to "how far" may take before the server is asked again: it has none while a watch of its is behind. */
const ASK_AGAIN_MS = 50;

/**
 * Feeds the watches of an instance from one watch of the cluster. It runs from the first watch on.
 * While no member answers the watches stay open and silent; when history that they need is gone,
 * they close.
 */
export class HistoryFollower {
  readonly #client: EtcdClient;
  readonly #feed: EventFeed;
  readonly #options: Pick<HistoryStreamOptions, "client" | "layout" | "epoch">;
  readonly #logger: Logger | undefined;
  readonly #stopping = new AbortController();
  #position: number | undefined;
  #starting: Promise<void> | undefined;
  #running: Promise<void> | undefined;
  /** Called whenever the position has moved, or the follower has stopped. */
  #waiting: (() => void)[] = [];
  #ask: (() => void) | undefined;

  constructor(
    options: Pick<HistoryStreamOptions, "client" | "layout" | "epoch">,
    feed: EventFeed,
    logger: Logger | undefined,
  ) {
    this.#client = options.client;
    this.#options = options;
    this.#feed = feed;
    this.#logger = logger;
  }

  /** Runs from the position that `head` gives, unless it runs already. */
  async start(head: () => Promise<number>): Promise<void> {
    if (this.#running !== undefined) return;
    this.#starting ??= this.#start(head).finally(() => {
      this.#starting = undefined;
    });
    await this.#starting;
  }

  /** Resolves when everything that is committed at this moment is published. */
  async catchUp(head: () => Promise<number>): Promise<void> {
    const target = await head();
    while (this.#position !== undefined && this.#position < target) {
      this.#stopping.signal.throwIfAborted();
      this.#ask?.();
      const moved = Promise.withResolvers<void>();
      this.#waiting.push(moved.resolve);
      const timer = setTimeout(moved.resolve, ASK_AGAIN_MS);
      await moved.promise;
      clearTimeout(timer);
    }
  }

  #moved(): void {
    for (const resolve of this.#waiting.splice(0)) resolve();
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    this.#moved();
    await this.#running;
  }

  async #start(head: () => Promise<number>): Promise<void> {
    this.#position = await head();
    this.#running = this.#run(head);
  }

  async #run(head: () => Promise<number>): Promise<void> {
    const { signal } = this.#stopping;
    let failures = 0;
    while (!signal.aborted) {
      const { member } = this.#client;
      try {
        this.#position ??= await head();
        const after = this.#position;
        const asked = (ending: AbortSignal): Promise<void> => this.#asked(ending);
        const stream = historyStream({
          ...this.#options,
          after,
          progressMs: PROGRESS_MS,
          asked,
          signal,
        });
        for await (const { commits, position, isWhole } of stream) {
          failures = 0;
          for (const commit of commits) {
            if ("resource" in commit) this.#feed.publish(commit);
            else this.#feed.publishDamaged(commit);
          }
          this.#position = position;
          this.#feed.isWhole = isWhole;
          this.#feed.advance(position, formatCursor(this.#options.epoch, position));
          this.#moved();
        }
      } catch (error) {
        if (signal.aborted) return;
        failures += 1;
        const { code, message } = StorageError.from(error);
        this.#client.leave(member);
        if (code === "STORAGE_WATCH_CLOSED" || code === "STORAGE_CORRUPT") {
          // The next position has to be taken before the watches end, or a new one could miss what
          // happens in between.
          this.#position = await head().catch(() => undefined);
          this.#feed.isWhole = true;
          this.#moved();
          this.#feed.closeAll(new StorageError("STORAGE_WATCH_CLOSED", message, { cause: error }));
        } else {
          this.#logger?.warn({ message, failures }, "watches wait for the cluster");
        }
        await delay(Math.min(10 * 2 ** failures, 500), undefined, { signal }).catch(
          () => undefined,
        );
      }
    }
  }

  /** Resolves when somebody waits to catch up, or the signal aborts. */
  #asked(ending: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const done = (): void => {
        this.#ask = undefined;
        resolve();
      };
      this.#ask = done;
      ending.addEventListener("abort", done, { once: true });
    });
  }
}

import { setTimeout as delay } from "node:timers/promises";
import type { Logger } from "@stackwright/base/logger";
import type { Sql } from "postgres";
import { StorageError } from "../../errors.ts";
import type { EventFeed } from "../../feed/event-feed.ts";
import { durableChanges, readChanges, readHead } from "./changes.ts";
import type { Connections } from "./connections.ts";
import type { DurableReads } from "./durable-reads.ts";

/** Commits fetched at a time. */
const PAGE = 500;

/** Hints to other instances are sent at most this often, and the history is asked for what they hint at. */
const NOTIFY_MS = 5;

// Revisions are handed out in commit order and without holes, so the follower has a position, asks
// for what is behind it, and publishes that. Everything that can wake it only makes it ask sooner: a
// commit of this instance, a notification of another one, the time. A lost notification costs one
// poll interval, never an event. While the server is away the watches stay open and silent.
//
// With many writers commits come faster than they can be asked for one by one, in every process. So between two questions a
// moment passes in which further ones come together, unless a caller waits; the first commit after a quiet time is asked for at once.

interface Position {
  readonly epoch: string;
  readonly revision: number;
}

/** Feeds the watches of an instance from the history in the database, while there are watches. */
export class ChangeFollower {
  readonly #connections: Connections;
  readonly #reads: DurableReads;
  readonly #feed: EventFeed;
  readonly #pollMs: number;
  readonly #logger: Logger | undefined;
  readonly #stopping = new AbortController();
  /** Everything up to here was published. */
  #position: Position | undefined;
  #starting: Promise<void> | undefined;
  #running: Promise<void> | undefined;
  #wake: (() => void) | undefined;
  #hinted = false;
  /** Up to where commits were hinted at: these are on disk, whether that was noted or not. */
  #hintedUpTo = 0;
  /** Whether only what is urgent wakes the follower. */
  #isResting = false;
  #askedAt = Number.NEGATIVE_INFINITY;
  #listener: Sql | undefined;
  #listening = false;
  /** Ends of connections that listened. */
  readonly #endings = new Set<Promise<void>>();
  #notifying: Promise<void> | undefined;
  /** The newest commit that has to be announced, and what was announced, by any instance. */
  #announcing = 0;
  #announced = 0;
  /** Called whenever the position has moved, or the follower has stopped. */
  #waiting: (() => void)[] = [];

  constructor(
    connections: Connections,
    reads: DurableReads,
    feed: EventFeed,
    pollMs: number,
    logger: Logger | undefined,
  ) {
    this.#connections = connections;
    this.#reads = reads;
    this.#feed = feed;
    this.#pollMs = pollMs;
    this.#logger = logger;
  }

  /**
   * Resolves when the follower runs and has a position, which is then not behind that of any
   * snapshot taken afterwards. A stream has to be open in the feed already.
   */
  async start(): Promise<void> {
    if (this.#position !== undefined) return;
    this.#starting ??= this.#start().finally(() => {
      this.#starting = undefined;
    });
    await this.#starting;
  }

  /** Of the content that the watches follow. */
  get epoch(): string | undefined {
    return this.#position?.epoch;
  }

  /** Ends all watches and continues from the end of the history, after the content was replaced. */
  async reset(reason: string): Promise<void> {
    const head = await this.#reads.run(readHead);
    if (this.#position !== undefined) this.#position = head;
    this.#feed.isWhole = true;
    this.#feed.closeAll(new StorageError("STORAGE_WATCH_CLOSED", reason));
  }

  /** Says that there may be something new, up to a commit that is on disk; without one, up to the newest. */
  hint(revision = Number.POSITIVE_INFINITY): void {
    this.#hinted = true;
    this.#hintedUpTo = Math.max(this.#hintedUpTo, revision);
    if (!this.#isResting) this.#wake?.();
  }

  /** Notifies the other instances, and this one, of a commit. */
  announce(revision = Number.POSITIVE_INFINITY): void {
    this.hint(revision);
    this.#announcing = Math.max(this.#announcing, revision);
    this.#notifying ??= this.#notify().finally(() => {
      this.#notifying = undefined;
    });
  }

  /** Publishes what is committed at this moment, and gives the position that was reached. */
  async catchUp(): Promise<number> {
    const { revision } = await this.#reads.run(readHead);
    while (this.#position !== undefined && this.#position.revision < revision) {
      this.hint(revision);
      this.#wake?.();
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
      this.#stopping.signal.throwIfAborted();
    }
    return this.#position?.revision ?? revision;
  }

  /** Lets those who wait to catch up look again. */
  #moved(): void {
    for (const resolve of this.#waiting.splice(0)) resolve();
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    this.#wake?.();
    this.#moved();
    await Promise.all([this.#running, this.#notifying]);
    this.#closeListener();
    await Promise.all(this.#endings);
  }

  async #start(): Promise<void> {
    await this.#running;
    this.#position = await this.#reads.run(readHead);
    this.#running = this.#run();
  }

  async #run(): Promise<void> {
    const { signal } = this.#stopping;
    let failures = 0;
    while (!signal.aborted) {
      try {
        // A hint after this point wakes the next round.
        this.#hinted = false;
        while (await this.#fetch());
        failures = 0;
      } catch (error) {
        failures += 1;
        const { message } = StorageError.from(error);
        this.#logger?.warn({ message, failures }, "watches wait for the database");
      }
      if (this.#feed.size === 0) break;
      this.#listen();
      await this.#pause(failures);
    }
    this.#position = undefined;
    this.#running = undefined;
    // Frees its connection, and the writers from announcing to nobody.
    this.#closeListener();
    this.#moved();
  }

  /** Waits for a hint or the poll interval, and after failures longer. */
  async #pause(failures: number): Promise<void> {
    if (failures > 0) {
      const wait = Math.min(20 * 2 ** failures, 1_000);
      await delay(wait, undefined, { signal: this.#stopping.signal }).catch(() => undefined);
      return;
    }
    const restMs = this.#askedAt + NOTIFY_MS - performance.now();
    if (restMs > 0 && this.#waiting.length === 0) {
      this.#isResting = true;
      await this.#woken(restMs);
      this.#isResting = false;
    }
    if (this.#hinted || this.#waiting.length > 0 || this.#stopping.signal.aborted) return;
    await this.#woken(this.#pollMs);
    // No hint says up to where commits are on disk.
    if (!this.#hinted) this.#hintedUpTo = Number.POSITIVE_INFINITY;
  }

  async #woken(mostMs: number): Promise<void> {
    if (this.#stopping.signal.aborted) return;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, mostMs);
      this.#wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
    this.#wake = undefined;
  }

  /** Publishes a page of commits; true when there may be another. */
  async #fetch(): Promise<boolean> {
    const from = this.#position;
    if (from === undefined) return false;
    this.#askedAt = performance.now();
    const upTo = this.#hintedUpTo;
    this.#hintedUpTo = 0;
    const isMore = await this.#fetchFrom(from, upTo).catch((error: unknown) => {
      this.#hintedUpTo = Math.max(this.#hintedUpTo, upTo);
      throw error;
    });
    if (isMore) this.#hintedUpTo = Math.max(this.#hintedUpTo, upTo);
    return isMore;
  }

  async #fetchFrom(from: Position, upTo: number): Promise<boolean> {
    const seen = await this.#connections.run("read", (sql) =>
      readChanges(sql, from.revision, PAGE),
    );
    // Who knows of a commit that is not there yet is wrong, and must not keep this instance silent up to it.
    this.#announced = Math.min(this.#announced, seen.revision);
    // Of what is not on disk yet the writer will say so. What was hinted at is worth waiting for.
    const durable = seen.epoch === from.epoch ? durableChanges(seen, upTo) : undefined;
    const { epoch, revision, commits } = durable ?? (await this.#reads.settle(seen));
    if (this.#position !== from) return true;
    if (epoch !== from.epoch || commits === undefined) {
      this.#position = { epoch, revision };
      this.#feed.isWhole = true;
      this.#moved();
      this.#feed.closeAll(
        new StorageError("STORAGE_WATCH_CLOSED", "the history is gone or was replaced"),
      );
      return false;
    }
    for (const commit of commits) {
      if ("resource" in commit) this.#feed.publish(commit);
      else this.#feed.publishDamaged(commit);
    }
    this.#position = { epoch, revision: from.revision + commits.length };
    // Where nothing came the last page ended as it did: what is noted as on disk may be behind it.
    if (commits.length > 0) this.#feed.isWhole = this.#position.revision >= revision;
    this.#moved();
    return this.#position.revision < revision;
  }

  /** Sees to it that notifications are heard; a lost connection is opened again by a later poll. */
  #listen(): void {
    if (this.#listening) return;
    this.#listening = true;
    const listener = (this.#listener ??= this.#connections.dedicated({
      onClose: () => lost(),
      onNotify: (_channel, payload) => this.#hear(payload),
    }));
    const lost = (): void => {
      if (this.#listener === listener) this.#listening = false;
    };
    // Writers that find the lock free announce nothing. What they committed before it was taken is found now. Both are of one
    // session, as they are one message; the lock ends with it.
    listener
      .unsafe(
        `SELECT pg_advisory_lock_shared(${LISTENERS}, 'store'::regclass::oid::integer); LISTEN ${CHANNEL}`,
      )
      .then(() => this.hint(), lost);
  }

  /** Takes a hint of an instance; those of a release before say nothing of whom they are. */
  #hear(payload: string): void {
    const [schema, text = ""] = payload.split(" ");
    const revision = Number(text);
    if (text === "" || !Number.isSafeInteger(revision)) {
      this.hint();
      return;
    }
    if (schema !== this.#connections.options.schema) return;
    this.#announced = Math.max(this.#announced, revision);
    this.hint(revision);
  }

  #closeListener(): void {
    const listener = this.#listener;
    if (listener === undefined) return;
    this.#listener = undefined;
    this.#listening = false;
    const ending = listener
      .end({ timeout: 1 })
      .catch(() => undefined)
      .finally(() => this.#endings.delete(ending));
    this.#endings.add(ending);
  }

  /**
   * Sends hints while there is something to announce. They are not part of any write, and not worth
   * a sync of the log, which a transaction that notifies would wait for otherwise.
   */
  async #notify(): Promise<void> {
    const { schema } = this.#connections.options;
    while (this.#announced < this.#announcing && !this.#stopping.signal.aborted) {
      const revision = this.#announcing;
      this.#announcing = 0;
      await this.#connections
        .run(
          "read",
          (sql) => sql`
            SELECT set_config('synchronous_commit', 'off', true),
              pg_notify(${CHANNEL}, ${Number.isFinite(revision) ? `${schema} ${revision}` : ""})`,
        )
        .catch(() => undefined);
      await delay(NOTIFY_MS);
    }
  }
}

/** Stores in one database share it: a hint too many costs one query. */
const CHANNEL = "stackwright_commit";

/** The lock of those who listen. */
const LISTENERS = 1_398_232_951;

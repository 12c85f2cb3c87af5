import { type Clock, sleep } from "@stackwright/base/clock";
import type { Logger } from "@stackwright/base/logger";
import { isStorageError } from "@stackwright/storage";
import { isOutputLine, type RunLogEvent } from "../domain/run-log-event.ts";
import { isServerError } from "../domain/server-error.ts";
import type { TimedEvent } from "../queue/append-events.ts";
import { EVENT_BYTES, fittingEvent } from "./fitting-event.ts";

/** A segment is written after so long, so many events, or so many bytes. */
const FLUSH_MS = 250;
const FLUSH_EVENTS = 200;
const FLUSH_BYTES = 32 * 1024;
/** Beyond so many bytes that a working store has not taken, the executor waits before it gives further output. */
const WAIT_BYTES = 1024 * 1024;
/**
 * Beyond so many bytes that wait for the store, output is dropped and counted: it may be away for long. For other events, which never
 * are, the executor has to wait.
 */
const HELD_BYTES = 4 * 1024 * 1024;
/** How long a store that is away is left alone. */
const AWAY_MS = 1_000;

/** The log of a run, as the owner of its claim writes it. */
interface LogSink {
  readonly run: string;
  /** Aborts when the claim is lost with the lease of the worker. @default never */
  readonly lost: AbortSignal | undefined;
  readonly clock: Clock;
  readonly logger?: Logger | undefined;
  /** Appends events in one step. Rejects where the store is away, and where the claim is lost. */
  append(events: readonly TimedEvent[]): Promise<void>;
}

type Held = TimedEvent & { readonly bytes: number };

/**
 * Collects the events of one execution and appends them to the log of its run, as long as the claim is valid: while the
 * store is away they are kept and tried again.
 */
export class LogWriter implements AsyncDisposable {
  readonly #sink: LogSink;
  #waiting: Held[] = [];
  #bytes = 0;
  #dropped = 0;
  #timer: Disposable | undefined;
  #writing: Promise<void> = Promise.resolve();
  /** The claim is gone: the log belongs to the next executor. */
  #isLost = false;
  #room: PromiseWithResolvers<void> | undefined;
  /** For output alone. */
  #outputRoom: PromiseWithResolvers<void> | undefined;
  #isAway = false;

  constructor(sink: LogSink) {
    this.#sink = sink;
  }

  /** Takes an event. A promise where the next one should wait, which resolves when there is room again. */
  add(event: RunLogEvent, at: number): Promise<void> | undefined {
    if (this.#isLost) return undefined;
    const size = Buffer.byteLength(JSON.stringify(event));
    if (isOutputLine(event) && this.#bytes + size > HELD_BYTES) {
      this.#dropped += 1;
      return undefined;
    }
    const kept = size > EVENT_BYTES ? fittingEvent(event) : event;
    const bytes = Math.min(size, EVENT_BYTES);
    this.#waiting.push({ event: kept, at, bytes });
    this.#bytes += bytes;
    if (this.#waiting.length >= FLUSH_EVENTS || this.#bytes >= FLUSH_BYTES) void this.flush();
    else this.#timer ??= this.#sink.clock.after(FLUSH_MS, () => void this.flush());
    if (isOutputLine(event)) {
      if (this.#bytes <= WAIT_BYTES || this.#isAway) return undefined;
      this.#outputRoom ??= Promise.withResolvers();
      return this.#outputRoom.promise;
    }
    if (this.#bytes <= HELD_BYTES) return undefined;
    this.#room ??= Promise.withResolvers();
    return this.#room.promise;
  }

  /** Writes the buffered lines; resolves when they are stored, or can no longer be stored. */
  async flush(): Promise<void> {
    this.#timer?.[Symbol.dispose]();
    this.#timer = undefined;
    this.#writing = this.#writing.then(async () => this.#write());
    await this.#writing;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.flush();
    this.#timer?.[Symbol.dispose]();
  }

  async #write(): Promise<void> {
    while (!this.#isLost && (this.#waiting.length > 0 || this.#dropped > 0)) {
      const dropped = this.#dropped;
      const batch = this.#take();
      try {
        await this.#append(batch, dropped);
        this.#isAway = false;
      } catch (error) {
        const { run, logger } = this.#sink;
        const isAway = isStorageError(error, "STORAGE_INCONSISTENT", "STORAGE_CAS_FAILURE");
        if (isAway && (await this.#pause())) {
          // As if it had not been taken.
          this.#waiting.unshift(...batch);
          for (const { bytes } of batch) this.#bytes += bytes;
          this.#dropped += dropped;
          continue;
        }
        this.#isLost = isAway || isServerError(error);
        logger?.warn({ run, events: batch.length, err: error }, "events were not stored");
      }
      if (this.#isLost) {
        this.#waiting = [];
        this.#bytes = 0;
      }
      if (this.#bytes <= HELD_BYTES) {
        this.#room?.resolve();
        this.#room = undefined;
      }
      if (this.#bytes <= WAIT_BYTES) this.#letOutputIn();
    }
  }

  #letOutputIn(): void {
    this.#outputRoom?.resolve();
    this.#outputRoom = undefined;
  }

  async #append(batch: readonly Held[], dropped: number): Promise<void> {
    const now = Math.floor(this.#sink.clock.wallMs());
    const gap = dropped === 0 ? [] : [{ at: now, event: { type: "gap", dropped } }];
    await this.#sink.append([...gap, ...batch.map(({ at, event }) => ({ at, event }))]);
  }

  /** Waits a moment; false if the lease is lost, and the claim with it. */
  async #pause(): Promise<boolean> {
    this.#isAway = true;
    this.#letOutputIn();
    try {
      await sleep(this.#sink.clock, AWAY_MS, this.#sink.lost);
      return true;
    } catch {
      return false;
    }
  }

  #take(): Held[] {
    const batch: Held[] = [];
    let bytes = 0;
    this.#dropped = 0;
    while (this.#waiting.length > 0 && batch.length < FLUSH_EVENTS && bytes < 2 * FLUSH_BYTES) {
      const next = this.#waiting.shift();
      if (next === undefined) break;
      bytes += next.bytes;
      this.#bytes -= next.bytes;
      batch.push(next);
    }
    return batch;
  }
}

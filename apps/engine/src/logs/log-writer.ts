import type { Clock } from "@stackwright/base/clock";
import type { Logger } from "@stackwright/base/logger";
import type { RunLogEvent } from "../domain/run-log-event.ts";
import { appendEvents, type TimedEvent } from "../queue/append-events.ts";
import { type RunClaim, requireClaim } from "../queue/claim.ts";
import { type TransactionParts, transact } from "../queue/transaction.ts";

/** A segment is written after so long, so many events, or so many bytes. */
const FLUSH_MS = 250;
const FLUSH_EVENTS = 200;
const FLUSH_BYTES = 32 * 1024;
/** Beyond so many bytes that wait for the store, log lines are dropped and counted; other events never. */
const HELD_BYTES = 4 * 1024 * 1024;
/** A longer event is cut to its type: no segment outgrows a resource. */
const EVENT_BYTES = 48 * 1024;

/** Collects the events of one execution and appends them to the log of its run, as long as the claim is valid. */
export class LogWriter implements AsyncDisposable {
  readonly #parts: TransactionParts;
  readonly #claim: RunClaim;
  readonly #logger: Logger | undefined;
  #waiting: (TimedEvent & { readonly bytes: number })[] = [];
  #bytes = 0;
  #dropped = 0;
  #timer: Disposable | undefined;
  #writing: Promise<void> = Promise.resolve();

  constructor(
    parts: TransactionParts & { readonly clock: Clock },
    claim: RunClaim,
    logger?: Logger,
  ) {
    this.#parts = parts;
    this.#claim = claim;
    this.#logger = logger;
  }

  add(event: RunLogEvent, at: number): void {
    const size = Buffer.byteLength(JSON.stringify(event));
    const isLog = event.type === "log";
    if (isLog && this.#bytes + size > HELD_BYTES) {
      this.#dropped += 1;
      return;
    }
    const kept = size > EVENT_BYTES ? { type: event.type, cut: true } : event;
    const bytes = Math.min(size, EVENT_BYTES);
    this.#waiting.push({ event: kept, at, bytes });
    this.#bytes += bytes;
    if (this.#waiting.length >= FLUSH_EVENTS || this.#bytes >= FLUSH_BYTES) void this.flush();
    else this.#timer ??= this.#parts.clock.after(FLUSH_MS, () => void this.flush());
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
    while (this.#waiting.length > 0 || this.#dropped > 0) {
      const batch = this.#take();
      try {
        await transact(this.#parts, async (tx) => {
          await requireClaim(tx, this.#claim);
          await appendEvents(tx, this.#claim.reference, batch);
        });
      } catch (error) {
        // With the claim lost, the log belongs to the next executor.
        this.#logger?.warn(
          { run: this.#claim.reference.run, err: error },
          "events were not stored",
        );
        return;
      }
    }
  }

  #take(): TimedEvent[] {
    const batch: TimedEvent[] = [];
    let bytes = 0;
    if (this.#dropped > 0) {
      const at = Math.floor(this.#parts.clock.wallMs());
      batch.push({ at, event: { type: "gap", dropped: this.#dropped } });
      this.#dropped = 0;
    }
    while (this.#waiting.length > 0 && batch.length < FLUSH_EVENTS && bytes < 2 * FLUSH_BYTES) {
      const next = this.#waiting.shift();
      if (next === undefined) break;
      bytes += next.bytes;
      this.#bytes -= next.bytes;
      batch.push({ at: next.at, event: next.event });
    }
    return batch;
  }
}

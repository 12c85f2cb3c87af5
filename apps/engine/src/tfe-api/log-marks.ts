import type { StoredRunLogEvent } from "../domain/run-log-event.ts";

/** A place between two segments of a log, from which its text continues. */
export interface LogMark {
  /** First event of the segment behind it. */
  readonly next: number;
  /** Whether the events from there on are of the apply. */
  readonly isApply: boolean;
  /** Bytes of the text before it. */
  readonly bytes: number;
  /** Diagnostics before it whose text is behind it. */
  readonly held: readonly StoredRunLogEvent[];
}

/** Logs whose places are remembered. */
const MAX_LOGS = 1_000;
/** Diagnostics that a place may have behind it. */
const MAX_HELD = 20;
/** Bytes between two places that are remembered. */
const STEP_BYTES = 32 * 1024;

/**
 * Remembers places of logs, so that a reader of slices reads the segments that it needs: segments never change, and the same ones give the
 * same text.
 */
export class LogMarks {
  /** By log, in the order of last use. */
  readonly #logs = new Map<string, LogMark[]>();

  /** The last place that is not behind an offset; undefined for the beginning. */
  before(log: string, offset: number): LogMark | undefined {
    return this.#logs.get(log)?.findLast(({ bytes }) => bytes <= offset);
  }

  add(log: string, mark: LogMark): void {
    const marks = this.#logs.get(log) ?? [];
    this.#logs.delete(log);
    const [oldest] = this.#logs.keys();
    if (this.#logs.size >= MAX_LOGS && oldest !== undefined) this.#logs.delete(oldest);
    this.#logs.set(log, marks);
    if (mark.held.length > MAX_HELD) return;
    if (mark.bytes >= (marks.at(-1)?.bytes ?? 0) + STEP_BYTES) marks.push(mark);
  }
}

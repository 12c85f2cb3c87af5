import type { Clock } from "@stackwright/base/clock";
import type { RunLog } from "@stackwright/proto/stackwright";
import { readStored, type StorageBackend } from "@stackwright/storage";
import { decodeRecord } from "../domain/record-kind.ts";
import type { StoredRunLogEvent } from "../domain/run-log-event.ts";
import { type Place, type RunReference, runPlace, segmentPlace } from "../domain/run-places.ts";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
import { idOf } from "../queue/transaction.ts";
import { SharedReads } from "./shared-reads.ts";

/** Of the segments that are kept for readers that come a moment later. */
const KEPT_BYTES = 8 * 1024 * 1024;
/** So long after its log was removed, a segment may still be read. */
const KEPT_MS = 5_000;

interface LogReaderParts {
  readonly storage: StorageBackend;
  readonly clock: Clock;
}

/** Consecutive events of a run as they are sent, encoded once for all readers. */
interface EncodedSegment {
  readonly first: number;
  readonly count: number;
  /** From the first event on. */
  readonly bytes: Uint8Array;
  /** Where each event begins. */
  readonly offsets: readonly number[];
  /** Nothing follows it. */
  readonly isLast: boolean;
}

interface Kept {
  readonly segment: EncodedSegment;
  readonly untilMs: number;
}

/** Reads the logs of runs for any number of readers of one server: what several want at a time is read, parsed and encoded once. */
export class LogReader {
  readonly #parts: LogReaderParts;
  readonly #segments = new SharedReads<EncodedSegment | undefined>((found) => found !== undefined);
  readonly #logs = new SharedReads<RunLog | undefined>((found) => found?.closed === true);
  /** The one that was read last is the last. */
  readonly #kept = new Map<string, Kept>();
  #bytes = 0;

  constructor(parts: LogReaderParts) {
    this.#parts = parts;
  }

  /** The segment that begins with an event; undefined where there is none, or none yet. */
  async segment(reference: RunReference, first: number): Promise<EncodedSegment | undefined> {
    const place = segmentPlace(reference, first);
    const key = keyOf(place);
    const kept = this.#kept.get(key);
    if (kept !== undefined && this.#parts.clock.monotonicMs() < kept.untilMs) return kept.segment;
    this.#forget(key);
    return this.#segments.read(key, async () => {
      const found = await readStored(
        this.#parts.storage,
        "strong",
        idOf(SERVER_KINDS.segment, place),
      );
      if (found === undefined) return undefined;
      const { events } = decodeRecord(SERVER_KINDS.segment, found);
      const segment = encodeSegment(reference.run, first, events);
      this.#keep(key, segment);
      return segment;
    });
  }

  async log(reference: RunReference): Promise<RunLog | undefined> {
    const place = runPlace(reference);
    return this.#logs.read(keyOf(place), async () => {
      const found = await readStored(this.#parts.storage, "strong", idOf(SERVER_KINDS.log, place));
      return found && decodeRecord(SERVER_KINDS.log, found);
    });
  }

  #keep(key: string, segment: EncodedSegment): void {
    this.#forget(key);
    this.#kept.set(key, { segment, untilMs: this.#parts.clock.monotonicMs() + KEPT_MS });
    this.#bytes += segment.bytes.length;
    for (const oldest of this.#kept.keys()) {
      if (this.#bytes <= KEPT_BYTES) break;
      this.#forget(oldest);
    }
  }

  #forget(key: string): void {
    const kept = this.#kept.get(key);
    if (kept === undefined) return;
    this.#kept.delete(key);
    this.#bytes -= kept.segment.bytes.length;
  }
}

function encodeSegment(run: string, first: number, events: readonly string[]): EncodedSegment {
  const offsets: number[] = [];
  const parts: Buffer[] = [];
  let at = 0;
  let isLast = false;
  for (const line of events) {
    const { seq, type } = JSON.parse(line) as StoredRunLogEvent;
    const part = Buffer.from(`id: ${run}:${seq}\nevent: ${type}\ndata: ${line}\n\n`);
    offsets.push(at);
    parts.push(part);
    at += part.length;
    isLast ||= type === "end";
  }
  return { first, count: events.length, bytes: Buffer.concat(parts, at), offsets, isLast };
}

function keyOf({ tenancy, name }: Place): string {
  return [tenancy.partition, tenancy.namespace, name].join("\0");
}

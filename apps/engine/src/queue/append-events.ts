import type { RunLog } from "@stackwright/proto/stackwright";
import { isOutputLine, type RunLogEvent } from "../domain/run-log-event.ts";
import { type RunReference, runPlace, segmentPlace } from "../domain/run-places.ts";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
import type { Transaction } from "./transaction.ts";

/** Bounds of one log: log lines beyond them are dropped, all other events are stored. */
interface LogBounds {
  readonly maxBytes: number;
  readonly maxEvents: number;
}

const DEFAULT_LOG_BOUNDS: LogBounds = Object.freeze({
  maxBytes: 64 * 1024 * 1024,
  maxEvents: 500_000,
});

/** Events of one segment at most, so that a reader finds the one that holds an event without reading others. */
export const SEGMENT_EVENTS = 256;

export interface TimedEvent {
  readonly at: number;
  readonly event: RunLogEvent;
}

const EMPTY: RunLog = {
  next: 1n,
  bytes: 0n,
  segments: 0,
  closed: false,
  truncated: false,
  writtenAtMs: 0n,
};

/**
 * Appends events to the log of a run within a transaction: the sequence has no gaps, because segment and log are written
 * in one step. A closed log takes nothing more.
 */
export async function appendEvents(
  tx: Transaction,
  run: RunReference,
  events: readonly TimedEvent[],
  { close = false, bounds = DEFAULT_LOG_BOUNDS }: { close?: boolean; bounds?: LogBounds } = {},
): Promise<void> {
  const row = await tx.findOrNew(SERVER_KINDS.log, runPlace(run), () => ({ ...EMPTY }));
  const log = row.message;
  if (log.closed) return;
  const first = Number(log.next);
  const isFull = Number(log.bytes) >= bounds.maxBytes || first > bounds.maxEvents;
  const taken = isFull ? events.filter(({ event }) => !isOutputLine(event)) : [...events];
  if (isFull && !log.truncated) {
    taken.push({ at: tx.nowMs, event: { type: "truncated" } });
  }
  const lines = taken.map(({ at, event }, index) =>
    // In this order, and whatever members an event has.
    JSON.stringify(Object.assign({ seq: 0, at }, event, { seq: first + index, at })),
  );
  // That a call still takes time says nothing of its provider.
  const isHeard = taken.some(({ event }) => event.type !== "step-progress");
  tx.update(row, {
    next: BigInt(first + lines.length),
    bytes: log.bytes + BigInt(lines.reduce((sum, line) => sum + Buffer.byteLength(line), 0)),
    segments: log.segments + Math.ceil(lines.length / SEGMENT_EVENTS),
    closed: close,
    truncated: log.truncated || isFull,
    writtenAtMs: isHeard ? BigInt(tx.nowMs) : log.writtenAtMs,
  });
  if (lines.length === 0) return;
  // A second move of one transaction writes a second segment, which begins where the first one ends.
  for (let at = 0; at < lines.length; at += SEGMENT_EVENTS) {
    tx.create(SERVER_KINDS.segment, segmentPlace(run, first + at), {
      first: BigInt(first + at),
      events: lines.slice(at, at + SEGMENT_EVENTS),
    });
  }
}

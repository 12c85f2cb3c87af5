import { type Clock, sleep } from "@stackwright/base/clock";
import { readStored, type StorageBackend } from "@stackwright/storage";
import { decodeRecord } from "../domain/record-kind.ts";
import type { StoredRunLogEvent } from "../domain/run-log-event.ts";
import { RUN_KIND, type RunReference, runPlace, segmentPlace } from "../domain/run-places.ts";
import { ServerError } from "../domain/server-error.ts";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
import { idOf } from "../queue/transaction.ts";
import { findSegment } from "./find-segment.ts";
import type { LogBell } from "./log-bell.ts";

interface StreamParts {
  readonly storage: StorageBackend;
  readonly clock: Clock;
  readonly bell: LogBell;
}

/** A reader without news looks by itself after so long, which also keeps the connection alive. */
const LOOK_MS = 15_000;

/**
 * The events of a run after a sequence number, as lines of `text/event-stream`: what is stored, then what comes, until the
 * run ends; without `follow` what is stored alone. Segments are read one by one as the consumer takes them, so that a slow
 * one holds no memory. Undefined where the run has ended and nothing follows; `not_found` without such a run.
 */
export async function streamRunLog(
  parts: StreamParts,
  reference: RunReference,
  { after, follow = true }: { readonly after: number; readonly follow?: boolean },
  signal: AbortSignal,
): Promise<AsyncIterable<string> | undefined> {
  const { storage } = parts;
  const run = await readStored(storage, "strong", idOf(RUN_KIND, runPlace(reference)));
  if (run === undefined) throw new ServerError("not_found", `there is no run ${reference.run}`);
  const log = await readLog(parts, reference);
  if (log?.closed === true && after >= Number(log.next) - 1) return undefined;
  return lines(parts, reference, { after, follow }, signal);
}

async function* lines(
  parts: StreamParts,
  reference: RunReference,
  { after, follow }: { readonly after: number; readonly follow: boolean },
  signal: AbortSignal,
): AsyncGenerator<string> {
  const { storage, bell } = parts;
  yield "retry: 2000\n\n";
  let next = await findSegment(parts, reference, after + 1);
  while (!signal.aborted) {
    // Asked for before the look, so that nothing between them is missed.
    const pause = new AbortController();
    const over = AbortSignal.any([signal, pause.signal]);
    const rung = bell.rung(runPlace(reference), over);
    try {
      const id = idOf(SERVER_KINDS.segment, segmentPlace(reference, next));
      const found = await readStored(storage, "strong", id);
      if (found !== undefined) {
        const { events } = decodeRecord(SERVER_KINDS.segment, found);
        next += events.length;
        for (const line of events) {
          const { seq, type } = JSON.parse(line) as StoredRunLogEvent;
          if (seq <= after) continue;
          yield `id: ${reference.run}:${seq}\nevent: ${type}\ndata: ${line}\n\n`;
          if (type === "end") return;
        }
        continue;
      }
      const log = await readLog(parts, reference);
      if (log?.closed === true) {
        if (next >= Number(log.next)) return;
        // The last events may have been written, and the log closed, since the look at the segment.
        if ((await readStored(storage, "strong", id)) !== undefined) continue;
        yield* pruned(reference, next, Number(log.next) - 1);
        return;
      }
      if (!follow && next >= Number(log?.next ?? 1)) return;
      const outcome = await Promise.race([
        rung,
        sleep(parts.clock, LOOK_MS, over).then(
          () => "late",
          () => undefined,
        ),
      ]);
      if (outcome === "late") yield ": \n\n";
    } finally {
      pause.abort();
    }
  }
}

/** The events of an ended run that are stored no more: what is missing, and that nothing follows. */
function* pruned({ run }: RunReference, from: number, to: number): Generator<string> {
  const end = { seq: to, type: "end", pruned: true };
  yield `event: gap\ndata: ${JSON.stringify({ type: "gap", from, to })}\n\n`;
  yield `id: ${run}:${to}\nevent: end\ndata: ${JSON.stringify(end)}\n\n`;
}

async function readLog({ storage }: StreamParts, reference: RunReference) {
  const id = idOf(SERVER_KINDS.log, runPlace(reference));
  const found = await readStored(storage, "strong", id);
  return found && decodeRecord(SERVER_KINDS.log, found);
}

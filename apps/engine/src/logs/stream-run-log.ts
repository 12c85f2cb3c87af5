import { type Clock, sleep } from "@stackwright/base/clock";
import { readStored, type StorageBackend } from "@stackwright/storage";
import { RUN_KIND, type RunReference, runPlace } from "../domain/run-places.ts";
import { ServerError } from "../domain/server-error.ts";
import { idOf } from "../queue/transaction.ts";
import { findSegment } from "./find-segment.ts";
import type { LogBell } from "./log-bell.ts";
import type { LogReader } from "./log-reader.ts";

interface StreamParts {
  readonly storage: StorageBackend;
  readonly clock: Clock;
  readonly bell: LogBell;
  /** Shared by all readers. */
  readonly logs: LogReader;
}

/** A reader without news looks by itself after so long, which also keeps the connection alive. */
const LOOK_MS = 15_000;

/**
 * The events of a run after a sequence number, as `text/event-stream`: what is stored, then what comes, until the
 * run ends; without `follow` what is stored alone. Segments are read one by one as the consumer takes them, so that a slow
 * one holds no memory. Undefined where the run has ended and nothing follows; `not_found` without such a run.
 */
export async function streamRunLog(
  parts: StreamParts,
  reference: RunReference,
  { after, follow = true }: { readonly after: number; readonly follow?: boolean },
  signal: AbortSignal,
): Promise<AsyncIterable<string | Uint8Array> | undefined> {
  const { storage, logs } = parts;
  const run = await readStored(storage, "strong", idOf(RUN_KIND, runPlace(reference)));
  if (run === undefined) throw new ServerError("not_found", `there is no run ${reference.run}`);
  const log = await logs.log(reference);
  if (log?.closed === true && after >= Number(log.next) - 1) return undefined;
  return lines(parts, reference, { after, follow }, signal);
}

async function* lines(
  parts: StreamParts,
  reference: RunReference,
  { after, follow }: { readonly after: number; readonly follow: boolean },
  signal: AbortSignal,
): AsyncGenerator<string | Uint8Array> {
  const { logs, bell } = parts;
  yield "retry: 2000\n\n";
  let next = await findSegment(parts, reference, after + 1);
  while (!signal.aborted) {
    // Asked for before the look, so that nothing between them is missed.
    const pause = new AbortController();
    const over = AbortSignal.any([signal, pause.signal]);
    const rung = bell.rung(runPlace(reference), over);
    try {
      const found = await logs.segment(reference, next);
      if (found !== undefined) {
        // Those of it that the reader has seen.
        const skipped = Math.max(0, after + 1 - next);
        next += found.count;
        if (skipped < found.count) yield found.bytes.subarray(found.offsets[skipped]);
        if (found.isLast) return;
        continue;
      }
      const log = await logs.log(reference);
      if (log?.closed === true) {
        if (next >= Number(log.next)) return;
        // The last events may have been written, and the log closed, since the look at the segment.
        if ((await logs.segment(reference, next)) !== undefined) continue;
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

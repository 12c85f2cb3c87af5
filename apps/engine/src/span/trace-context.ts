import type { Run } from "@stackwright/proto/stackwright";
import { type SpanPlace, traceOfRun } from "./span.ts";

// Where work continues is kept in records, and sent between processes, as W3C Trace Context writes it.

const TRACE_PARENT = /^[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}(?:-.*)?$/;
const NONE = /^0+$/;
/** Characters of one that is read: those of later versions may be longer. */
const MAX_LENGTH = 128;

/** A span as the parent of what other processes trace. */
export function traceParentOf({ traceId, spanId }: SpanPlace): string {
  return `00-${traceId}-${spanId}-01`;
}

/** The span that a text names; undefined for an empty text and for one that is none. */
export function spanPlaceOf(traceParent: string): SpanPlace | undefined {
  if (traceParent.length > MAX_LENGTH) return undefined;
  const [, traceId = "", spanId = ""] = TRACE_PARENT.exec(traceParent) ?? [];
  return traceId === "" || NONE.test(traceId) || NONE.test(spanId)
    ? undefined
    : { traceId, spanId };
}

type Traced = Pick<Run, "id" | "traceParent" | "applyTraceParent">;

/** Where a run belongs: to what it was requested by, or to a trace of its own. */
export function placeOfRun({ id, traceParent }: Pick<Run, "id" | "traceParent">): SpanPlace {
  return spanPlaceOf(traceParent) ?? traceOfRun(id);
}

/** Where the apply of a run belongs: to the approval, where somebody gave one. */
export function placeOfApply(run: Traced): SpanPlace {
  return spanPlaceOf(run.applyTraceParent) ?? placeOfRun(run);
}

/** Where a step of a run belongs, by what its ticket notes. */
export function stepPlaceOf(run: string, traceParent: string): SpanPlace {
  return spanPlaceOf(traceParent) ?? traceOfRun(run);
}

/** The id of the trace of a step of a run, by what its ticket notes. */
export function traceIdOf(run: string, traceParent: string): string {
  return stepPlaceOf(run, traceParent).traceId;
}

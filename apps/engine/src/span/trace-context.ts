import type { Run } from "@stackwright/proto/stackwright";
import { type SpanPlace, traceOfRun } from "./span.ts";

// Where work continues is kept in records, and sent between processes, as W3C Trace Context writes it.

const TRACE_PARENT = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;
/** The only version that is known: it has nothing behind the flags, as later ones may. */
const VERSION = "00";
const NO_VERSION = "ff";
const SAMPLED = 1;
const NONE = /^0+$/;
/** Characters of one that is read: those of later versions may be longer. */
const MAX_LENGTH = 128;

/** A span as the parent of what other processes trace. */
export function traceParentOf({ traceId, spanId, isSampled = true }: SpanPlace): string {
  return `${VERSION}-${traceId}-${spanId}-${isSampled ? "01" : "00"}`;
}

/** The span that a text names; undefined for an empty text and for one that is none. */
export function spanPlaceOf(traceParent: string): SpanPlace | undefined {
  if (traceParent.length > MAX_LENGTH) return undefined;
  const [, version = NO_VERSION, traceId = "", spanId = "", flags = "", more] =
    TRACE_PARENT.exec(traceParent) ?? [];
  if (version === NO_VERSION || (version === VERSION && more !== undefined)) return undefined;
  if (NONE.test(traceId) || NONE.test(spanId)) return undefined;
  const isSampled = (Number.parseInt(flags, 16) & SAMPLED) !== 0;
  return { traceId, spanId, ...(!isSampled && { isSampled }) };
}

/** Characters of a `tracestate` that are taken over, and its members. */
const MAX_STATE_LENGTH = 512;
const MAX_STATE_MEMBERS = 32;
const STATE_KEY =
  /^(?:[a-z][a-z0-9_\-*/]{0,255}|[a-z0-9][a-z0-9_\-*/]{0,240}@[a-z][a-z0-9_\-*/]{0,13})$/;
const STATE_VALUE = /^[\x20-\x2b\x2d-\x3c\x3e-\x7e]{0,255}[\x21-\x2b\x2d-\x3c\x3e-\x7e]$/;

/** What other systems note of a trace, as its header `tracestate` has it; undefined for one that is not valid as a whole, and for an empty one. */
export function traceStateOf(text: string): string | undefined {
  const members = text
    .split(",")
    .map((one) => one.trim())
    .filter((one) => one !== "");
  const keys = new Set<string>();
  for (const member of members) {
    const at = member.indexOf("=");
    const key = member.slice(0, Math.max(0, at));
    if (!STATE_KEY.test(key) || !STATE_VALUE.test(member.slice(at + 1)) || keys.has(key)) {
      return undefined;
    }
    keys.add(key);
  }
  const state = members.join(",");
  const isBounded = members.length <= MAX_STATE_MEMBERS && state.length <= MAX_STATE_LENGTH;
  return state !== "" && isBounded ? state : undefined;
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

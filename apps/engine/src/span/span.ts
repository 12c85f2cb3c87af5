import { createHash, randomBytes } from "node:crypto";

export type SpanValue = string | number | boolean;

/** Where a span is: 32 and 16 hexadecimal digits. */
export interface SpanPlace {
  readonly traceId: string;
  readonly spanId: string;
  /** Whether the caller that began the trace wants its spans reported: where not, none is, and all that continues it knows. @default true */
  readonly isSampled?: boolean | undefined;
}

/** Something that took time. Its attributes are ids, addresses and codes, never values or texts of programs. */
export interface Span extends SpanPlace {
  readonly parentSpanId?: string;
  /** What other systems note of the trace, as the header `tracestate` of the request had it. */
  readonly traceState?: string;
  readonly name: string;
  readonly kind: "internal" | "server" | "client" | "consumer";
  /** Milliseconds since 1970. */
  readonly startMs: number;
  readonly endMs: number;
  readonly isFailed: boolean;
  readonly attributes: Readonly<Record<string, SpanValue>>;
  /** Spans of other traces that this one is about, or follows from. */
  readonly links?: readonly SpanPlace[];
}

/** Takes spans that have ended. Never throws, and never waits. */
export interface SpanSink {
  add(span: Span): void;
}

export function newSpanId(): string {
  return randomBytes(8).toString("hex");
}

export function newTraceId(): string {
  return randomBytes(16).toString("hex");
}

/** The trace of a run that was requested by nothing that is traced: all servers and workers know it by the id of the run. */
export function traceOfRun(run: string): SpanPlace {
  const digest = createHash("sha256").update(run).digest("hex");
  return { traceId: digest.slice(0, 32), spanId: digest.slice(32, 48) };
}

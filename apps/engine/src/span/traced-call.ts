import type { Clock } from "@stackwright/base/clock";
import { newSpanId, type SpanSink, type SpanValue } from "./span.ts";
import type { TraceScope } from "./trace-scope.ts";

interface TracedCallParts {
  readonly clock: Clock;
  readonly traces?: TraceScope | undefined;
  readonly spans?: SpanSink | undefined;
}

/** Reports a call of something outside as a span of the work that makes it. */
export async function tracedCall<T>(
  { clock, traces, spans }: TracedCallParts,
  name: string,
  attributes: Readonly<Record<string, SpanValue>>,
  call: () => Promise<T>,
): Promise<T> {
  const work = traces?.work;
  if (spans === undefined || work?.place === undefined) return call();
  const { traceId, spanId: parentSpanId, isSampled } = work.place;
  const startMs = clock.wallMs();
  let isFailed = true;
  try {
    const result = await call();
    isFailed = false;
    return result;
  } finally {
    work.noteCall();
    spans.add({
      traceId,
      ...(isSampled === false && { isSampled }),
      spanId: newSpanId(),
      parentSpanId,
      name,
      kind: "client",
      startMs,
      endMs: clock.wallMs(),
      isFailed,
      attributes,
    });
  }
}

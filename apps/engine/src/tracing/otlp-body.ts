import type { Span, SpanValue } from "../span/span.ts";

const KINDS = { internal: 1, server: 2, client: 3, consumer: 5 } as const satisfies Record<
  Span["kind"],
  number
>;
const FAILED = 2;

/** Spans as a request of the OpenTelemetry protocol, in its JSON form. */
export function otlpBody(spans: readonly Span[], resource: Readonly<Record<string, string>>) {
  return {
    resourceSpans: [
      {
        resource: { attributes: attributesOf(resource) },
        scopeSpans: [{ scope: { name: "stackwright" }, spans: spans.map(spanOf) }],
      },
    ],
  };
}

function spanOf(span: Span) {
  const { traceId, spanId, parentSpanId, traceState, name, kind } = span;
  const { startMs, endMs, isFailed, attributes, links = [] } = span;
  return {
    traceId,
    spanId,
    ...(parentSpanId !== undefined && { parentSpanId }),
    ...(traceState !== undefined && { traceState }),
    name,
    kind: KINDS[kind],
    startTimeUnixNano: nanosOf(startMs),
    endTimeUnixNano: nanosOf(Math.max(startMs, endMs)),
    attributes: attributesOf(attributes),
    ...(links.length > 0 && {
      links: links.map((link) => ({ traceId: link.traceId, spanId: link.spanId })),
    }),
    ...(isFailed && { status: { code: FAILED } }),
  };
}

function attributesOf(attributes: Readonly<Record<string, SpanValue>>) {
  return Object.entries(attributes).map(([key, value]) => ({ key, value: valueOf(value) }));
}

function valueOf(value: SpanValue) {
  if (typeof value === "string") return { stringValue: value };
  if (typeof value === "boolean") return { boolValue: value };
  return Number.isInteger(value) ? { intValue: String(value) } : { doubleValue: value };
}

/** The protocol writes integers of 64 bits as texts. */
function nanosOf(ms: number): string {
  return `${BigInt(Math.round(ms * 1_000))}000`;
}

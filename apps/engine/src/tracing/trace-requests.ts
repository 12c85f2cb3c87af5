import type { Clock } from "@stackwright/base/clock";
import type { FastifyInstance, FastifyRequest } from "fastify";
import { newSpanId, newTraceId, type SpanSink, traceOfRun } from "./span.ts";

/** What is asked all the time and says nothing. */
const UNTRACED: ReadonlySet<string> = new Set(["/healthz", "/readyz", "/metrics"]);
/** The form of the header of W3C Trace Context. */
const PARENT = /^[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}(?:-.*)?$/;
const NONE = /^0+$/;
/** The run that a request made, as its answer names it. */
const MADE_RUN = /\/runs\/([0-9A-Z]{26})$/;
/** Anybody can write anything in the place of an id, without being known. */
const RUN_ID = /^[0-9A-Z]{26}$/;

/** Makes a span of each request, in the trace that the caller names, linked with the trace of the run that it is about. */
export function traceRequests(fastify: FastifyInstance, sink: SpanSink, clock: Clock): void {
  const started = new WeakMap<FastifyRequest, number>();
  fastify.addHook("onRequest", async (request) => {
    started.set(request, clock.wallMs());
  });
  fastify.addHook("onResponse", async (request, reply) => {
    const startMs = started.get(request);
    const route = request.routeOptions.url ?? "none";
    if (startMs === undefined || UNTRACED.has(route)) return;
    const parent = parentOf(request.headers["traceparent"]);
    const location = reply.getHeader("location");
    const made = typeof location === "string" ? MADE_RUN.exec(location)?.[1] : undefined;
    const { run: named = "" } = (request.params ?? {}) as { readonly run?: string };
    const run = RUN_ID.test(named) ? named : made;
    sink.add({
      traceId: parent?.traceId ?? newTraceId(),
      spanId: newSpanId(),
      ...(parent !== undefined && { parentSpanId: parent.spanId }),
      name: `${request.method} ${route}`,
      kind: "server",
      startMs,
      endMs: clock.wallMs(),
      isFailed: reply.statusCode >= 500,
      attributes: {
        "http.request.method": request.method,
        "http.route": route,
        "http.response.status_code": reply.statusCode,
        "stackwright.request_id": request.id,
        ...(run !== undefined && { "stackwright.run": run }),
      },
      ...(run !== undefined && { link: traceOfRun(run) }),
    });
  });
}

function parentOf(header: string | readonly string[] | undefined) {
  const [, traceId = "", spanId = ""] = PARENT.exec(String(header ?? "")) ?? [];
  return traceId === "" || NONE.test(traceId) || NONE.test(spanId)
    ? undefined
    : { traceId, spanId };
}

import type { IncomingMessage } from "node:http";
import type { Clock } from "@stackwright/base/clock";
import type { FastifyInstance } from "fastify";
import type { ChildLoggerOptions, Logger } from "pino";
import { tracedChild } from "../server-logger.ts";
import { newSpanId, newTraceId, type SpanPlace, type SpanSink } from "../span/span.ts";
import { spanPlaceOf, traceStateOf } from "../span/trace-context.ts";
import { TracedWork, type TraceScope } from "../span/trace-scope.ts";

/** What is asked all the time and says nothing. */
const UNTRACED: ReadonlySet<string> = new Set(["/healthz", "/readyz", "/metrics"]);
/** The run that a request made, as its answer names it. */
const MADE_RUN = /\/runs\/([0-9A-Z]{26})$/;
/** Anybody can write anything in the place of an id, without being known. */
const RUN_ID = /^[0-9A-Z]{26}$/;

interface RequestTraceParts {
  readonly scope: TraceScope;
  readonly clock: Clock;
  /** Where the time of requests is reported. @default nowhere: then requests pass the trace of their caller on, and begin none */
  readonly spans?: SpanSink | undefined;
}

/** A request that has begun. */
interface BegunRequest {
  readonly work: TracedWork;
  readonly parent: SpanPlace | undefined;
  readonly traceState: string | undefined;
  readonly startMs: number;
}

/**
 * Makes a span of each request, in the trace that the caller names. All that a request does and requests is part of its span; it links to the
 * traces of the runs that it is about.
 */
export class RequestTraces {
  readonly #parts: RequestTraceParts;
  readonly #begun = new WeakMap<IncomingMessage, BegunRequest>();

  constructor(parts: RequestTraceParts) {
    this.#parts = parts;
  }

  /** The log of a request, whose first line is written before any hook. */
  child(
    logger: Logger,
    bindings: Record<string, unknown>,
    options: ChildLoggerOptions,
    raw: IncomingMessage,
  ): Logger {
    const { place } = this.#begin(raw).work;
    const traced = { ...bindings, ...(place !== undefined && { traceId: place.traceId }) };
    return tracedChild(logger, traced, options);
  }

  observe(fastify: FastifyInstance): void {
    const { scope } = this.#parts;
    fastify.addHook("onRequest", (request, reply, done) => {
      const { run = "" } = (request.params ?? {}) as { readonly run?: string };
      if (RUN_ID.test(run)) request.log = reply.log = request.log.child({ run });
      scope.run(this.#begin(request.raw).work, done);
    });
    fastify.addHook("onSend", (request, reply, payload, done) => {
      const run = madeRun(reply.getHeader("location"));
      if (run !== undefined) reply.log = request.log.child({ run });
      done(null, payload);
    });
    fastify.addHook("onResponse", (request, reply, done) => {
      const begun = this.#begin(request.raw);
      begun.work.over();
      const route = request.routeOptions.url ?? "none";
      const { run: named = "" } = (request.params ?? {}) as { readonly run?: string };
      const run = RUN_ID.test(named) ? named : madeRun(reply.getHeader("location"));
      if (!UNTRACED.has(route)) {
        this.#report(begun, {
          name: `${request.method} ${route}`,
          isFailed: reply.statusCode >= 500,
          attributes: {
            "http.request.method": request.method,
            "http.route": route,
            "http.response.status_code": reply.statusCode,
            "stackwright.request_id": request.id,
            ...(run !== undefined && { "stackwright.run": run }),
          },
        });
      }
      done();
    });
  }

  #begin(raw: IncomingMessage): BegunRequest {
    const known = this.#begun.get(raw);
    if (known !== undefined) return known;
    const { clock, spans } = this.#parts;
    const parent = spanPlaceOf(String(raw.headers["traceparent"] ?? ""));
    const place =
      spans === undefined
        ? parent
        : {
            traceId: parent?.traceId ?? newTraceId(),
            spanId: newSpanId(),
            ...(parent?.isSampled === false && { isSampled: false }),
          };
    // Without a parent it says nothing.
    const traceState = parent && traceStateOf(String(raw.headers["tracestate"] ?? ""));
    const begun = { work: new TracedWork(place), parent, traceState, startMs: clock.wallMs() };
    this.#begun.set(raw, begun);
    return begun;
  }

  #report(
    { work, parent, traceState, startMs }: BegunRequest,
    span: Pick<Parameters<SpanSink["add"]>[0], "name" | "isFailed" | "attributes">,
  ): void {
    const { clock, spans } = this.#parts;
    const { place, links } = work;
    if (spans === undefined || place === undefined) return;
    spans.add({
      ...place,
      ...(parent !== undefined && { parentSpanId: parent.spanId }),
      ...(traceState !== undefined && { traceState }),
      ...span,
      kind: "server",
      startMs,
      endMs: clock.wallMs(),
      links,
    });
  }
}

function madeRun(location: unknown): string | undefined {
  return typeof location === "string" ? MADE_RUN.exec(location)?.[1] : undefined;
}

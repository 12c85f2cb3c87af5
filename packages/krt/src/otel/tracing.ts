import {
  type Context,
  context,
  type Link,
  type Span,
  type Tracer,
  trace,
} from "@opentelemetry/api";
import type { DeliveryInfo, Instrumentation, InstrumentedNode } from "../instrumentation.ts";

/** Options of tracing. */
export interface TracingOptions {
  readonly tracer: Tracer;
}

/** Counters of a node at the start of its span; the span records the differences. */
interface OpenNode {
  readonly span: Span;
  readonly runs: number;
  readonly abandoned: number;
  readonly unchanged: number;
  readonly failed: number;
  readonly discarded: number;
}

/** Turns whose span context is kept, for the links of deliveries. */
const KEPT_TURNS = 1024;

/**
 * Instrumentation that makes a span per turn, a child per collection that is processed in it, and a span
 * per handler call, linked to the turn whose changes it gets. The turn is a child of the span that is
 * active where the writes are made. Give it to `createRuntime({ instrumentation })`.
 */
export function createTracing({ tracer }: TracingOptions): Instrumentation {
  let turnSpan: Span | undefined;
  let turnContext: Context | undefined;
  const open = new Map<InstrumentedNode, OpenNode>();
  const turns = new Map<number, Link>();

  const keep = (turn: number, link: Link): void => {
    turns.set(turn, link);
    const [oldest] = turns.keys();
    if (turns.size > KEPT_TURNS && oldest !== undefined) turns.delete(oldest);
  };

  return {
    turnStart(turn) {
      turnSpan = tracer.startSpan("krt.turn", { attributes: { "krt.turn": turn } });
      turnContext = trace.setSpan(context.active(), turnSpan);
    },
    nodeStart(node) {
      const { runs, abandoned, unchanged, failed, discarded } = node.counters;
      const attributes = {
        "krt.collection": node.name,
        "krt.collection.type": node.type,
        "krt.collection.level": node.level,
      };
      const span = tracer.startSpan(`krt.process ${node.name}`, { attributes }, turnContext);
      open.set(node, { span, runs, abandoned, unchanged, failed, discarded });
    },
    nodeEnd(node) {
      const started = open.get(node);
      if (started === undefined) return;
      open.delete(node);
      const { span, ...before } = started;
      span.setAttribute("krt.events", node.events.count);
      for (const [name, value] of Object.entries(before)) {
        const counted = node.counters[name as keyof typeof before] - value;
        if (counted > 0) span.setAttribute(`krt.${name}`, counted);
      }
      span.end();
    },
    turnEnd(turn, nodes) {
      if (turnSpan === undefined) return;
      const sources = nodes.filter((node) => node.level === 0 && node.events.count > 0);
      turnSpan.setAttributes({
        "krt.sources": sources.map((node) => node.name),
        "krt.collections": nodes.length,
      });
      keep(turn, { context: turnSpan.spanContext() });
      turnSpan.end();
      turnSpan = undefined;
      turnContext = undefined;
    },
    deliver(delivery: DeliveryInfo, call) {
      const link = delivery.turn === undefined ? undefined : turns.get(delivery.turn);
      const attributes = {
        "krt.collection": delivery.collection,
        "krt.events": delivery.events,
        ...(delivery.subscription !== undefined && { "krt.subscription": delivery.subscription }),
      };
      const span = tracer.startSpan(`krt.deliver ${delivery.collection}`, {
        attributes,
        root: true,
        links: link === undefined ? [] : [link],
      });
      try {
        return context.with(trace.setSpan(context.active(), span), call);
      } finally {
        span.end();
      }
    },
  };
}

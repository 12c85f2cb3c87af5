import {
  type BatchObservableCallback,
  context,
  createNoopMeter,
  type Observable,
  trace,
} from "@opentelemetry/api";
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  type ReadableSpan,
  SimpleSpanProcessor,
} from "@opentelemetry/sdk-trace-base";
import { beforeEach, describe, expect, it } from "vitest";
import { createRuntime } from "../index.ts";
import { createTracing, observeRuntime } from "./index.ts";

describe("tracing", () => {
  let exporter: InMemorySpanExporter;
  let provider: BasicTracerProvider;
  beforeEach(() => {
    exporter = new InMemorySpanExporter();
    provider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] });
    return () => provider.shutdown();
  });

  const named = (name: string): ReadableSpan[] =>
    exporter.getFinishedSpans().filter((span) => span.name === name);

  it("makes a span per turn with a child per collection", async () => {
    const instrumentation = createTracing({ tracer: provider.getTracer("krt") });
    const rt = createRuntime({ instrumentation });
    const source = rt.source(["a", "b"], { name: "S" });
    const derived = rt.derive(source, (_, key) => ({ key, n: key.length }), { name: "D" });
    derived.subscribe(() => {}, { name: "H" });
    await rt.settled();
    exporter.reset();
    source.set("c");
    source.set("c", { force: true });
    await rt.settled();

    const [first, second] = named("krt.turn");
    expect(first?.attributes).toMatchObject({ "krt.sources": ["S"], "krt.collections": 2 });
    const [run, rerun] = named("krt.process D");
    expect(run?.parentSpanContext?.spanId).toBe(first?.spanContext().spanId);
    expect(run?.attributes).toMatchObject({
      "krt.collection": "D",
      "krt.collection.type": "derive",
      "krt.collection.level": 1,
      "krt.runs": 1,
      "krt.events": 1,
    });
    expect(rerun?.parentSpanContext?.spanId).toBe(second?.spanContext().spanId);
    expect(rerun?.attributes).toMatchObject({ "krt.unchanged": 1, "krt.events": 0 });

    const [delivery] = named("krt.deliver D");
    expect(delivery?.attributes).toMatchObject({ "krt.events": 1, "krt.subscription": "H" });
    expect(delivery?.links.map((link) => link.context.spanId)).toEqual([
      first?.spanContext().spanId,
    ]);
  });

  it("hands back what handlers return, and lets their failures through", async () => {
    const errors: unknown[] = [];
    const instrumentation = createTracing({ tracer: provider.getTracer("krt") });
    const rt = createRuntime({ instrumentation, onError: (error) => errors.push(error) });
    const source = rt.source(["a"]);
    source.subscribe(() => {
      throw new Error("no");
    });
    let release = () => {};
    const registration = source.subscribe(
      () => new Promise<void>((resolve) => (release = resolve)),
    );
    await rt.settled();
    expect(errors).toMatchObject([{ code: "KRT_HANDLER" }]);
    expect(registration.synced).toBe(false);
    release();
    await registration.whenSynced();
    expect(trace.getSpan(context.active())).toBeUndefined();
  });
});

describe("metrics", () => {
  it("describe every collection and queue when they are collected", () => {
    let collect: BatchObservableCallback | undefined;
    const meter = createNoopMeter();
    const names = new Map<unknown, string>();
    for (const method of ["createObservableGauge", "createObservableCounter"] as const) {
      meter[method] = (name) => {
        const instrument = { addCallback: () => {}, removeCallback: () => {} };
        names.set(instrument, name);
        return instrument;
      };
    }
    meter.addBatchObservableCallback = (callback) =>
      (collect = callback as BatchObservableCallback);
    meter.removeBatchObservableCallback = () => (collect = undefined);

    const rt = createRuntime();
    const source = rt.source(["a"], { name: "S" });
    rt.derive(source, (_, key) => key, { name: "D" });
    source.subscribe(() => {}, { name: "H" });
    const stop = observeRuntime(rt, { meter, attributes: { app: "test" } });
    const seen: Record<string, number> = {};
    void collect?.({
      observe: (metric: Observable, value: number, attributes = {}) => {
        expect(attributes.app).toBe("test");
        seen[
          `${names.get(metric)} ${String(attributes["krt.subscription"] ?? attributes["krt.collection"])}`
        ] = value;
      },
    });
    expect(seen).toMatchObject({
      "krt.collection.size S": 1,
      "krt.runs D": 1,
      "krt.events S": 1,
      "krt.queue.length H": 1,
      "krt.collection.synced D": 1,
    });
    stop();
    expect(collect).toBeUndefined();
  });
});

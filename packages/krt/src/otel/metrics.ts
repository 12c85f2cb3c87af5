import type { Attributes, BatchObservableResult, Meter } from "@opentelemetry/api";
import type { Runtime } from "../runtime.ts";

/** Options of metrics. */
export interface MetricsOptions {
  readonly meter: Meter;
  /** Added to every measurement. */
  readonly attributes?: Attributes;
}

/**
 * Reports the state of a runtime whenever metrics are collected: per collection its size, runs, runs
 * that changed nothing, failures, committed changes and, with the option `timing`, time; per handler the
 * length of its queue. Costs nothing in between. The returned function ends it.
 */
export function observeRuntime(runtime: Runtime, options: MetricsOptions): () => void {
  const { meter } = options;
  const size = meter.createObservableGauge("krt.collection.size", { unit: "{object}" });
  const runs = meter.createObservableCounter("krt.runs", { unit: "{run}" });
  const unchanged = meter.createObservableCounter("krt.runs.unchanged", { unit: "{run}" });
  const failed = meter.createObservableCounter("krt.runs.failed", { unit: "{run}" });
  const events = meter.createObservableCounter("krt.events", { unit: "{event}" });
  const time = meter.createObservableCounter("krt.time", { unit: "ms" });
  const synced = meter.createObservableGauge("krt.collection.synced");
  const queue = meter.createObservableGauge("krt.queue.length", { unit: "{event}" });
  const all = [size, runs, unchanged, failed, events, time, synced, queue];

  const observe = (result: BatchObservableResult): void => {
    for (const one of runtime.inspect().collections()) {
      const attributes = {
        ...options.attributes,
        "krt.collection": one.name,
        "krt.collection.type": one.type,
      };
      result.observe(size, one.size, attributes);
      result.observe(synced, one.synced ? 1 : 0, attributes);
      result.observe(runs, one.counters.runs, attributes);
      result.observe(unchanged, one.counters.unchanged, attributes);
      result.observe(failed, one.counters.failed, attributes);
      result.observe(events, one.counters.events, attributes);
      if (one.counters.timeMs > 0) result.observe(time, one.counters.timeMs, attributes);
      for (const [i, { name, queued }] of one.subscriptions.entries()) {
        result.observe(queue, queued, { ...attributes, "krt.subscription": name ?? `${i}` });
      }
    }
  };
  meter.addBatchObservableCallback(observe, all);
  return () => meter.removeBatchObservableCallback(observe, all);
}

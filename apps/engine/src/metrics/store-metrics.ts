import type { StorageObserver } from "@stackwright/storage";
import { Counter, Gauge, Histogram, type Registry } from "prom-client";
import { kindClassOf } from "./kind-class.ts";

/** Seconds, from what memory needs to the deadline of a call. */
const BUCKETS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 2.5, 10];

/** The numbers of the store as this server sees it. */
export function createStoreMetrics(registry: Registry, engine: string): StorageObserver {
  const registers = [registry];
  const durations = new Histogram({
    name: "stackwright_store_call_seconds",
    help: "Time of the calls of the store that succeeded, by what the kind of the resource is part of.",
    labelNames: ["engine", "operation", "kinds"],
    buckets: BUCKETS,
    registers,
  });
  const failures = new Counter({
    name: "stackwright_store_failures_total",
    help: "Calls of the store that failed, by the code of the error.",
    labelNames: ["engine", "operation", "code"],
    registers,
  });
  const watches = new Gauge({
    name: "stackwright_store_watches",
    help: "Open watches of the store.",
    registers,
  });
  const closed = new Counter({
    name: "stackwright_store_watches_closed_total",
    help: "Watches that the store has closed, because they were too slow or their history is gone.",
    registers,
  });
  const events = new Counter({
    name: "stackwright_store_watch_events_total",
    help: "Events that watches have delivered.",
    registers,
  });
  const lag = new Histogram({
    name: "stackwright_store_watch_lag_seconds",
    help: "Time from the acknowledgement of a write of this server to its event at a watch of it; samples.",
    buckets: BUCKETS,
    registers,
  });
  return {
    ended: ({ operation, type, durationMs, failure }) => {
      if (failure !== undefined) failures.inc({ engine, operation, code: failure });
      else durations.observe({ engine, operation, kinds: kindClassOf(type) }, durationMs / 1000);
    },
    watchOpened: () => {
      watches.inc();
      return (failure) => {
        watches.dec();
        if (failure !== undefined) closed.inc();
      };
    },
    delivered: () => events.inc(),
    lagged: (durationMs) => lag.observe(durationMs / 1000),
  };
}

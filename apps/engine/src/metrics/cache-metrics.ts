import type { CachedCall, WatchCacheStatistics } from "@stackwright/storage";
import { Counter, Gauge, type Registry } from "prom-client";

const CALLS: readonly CachedCall[] = ["read", "list", "watch"];

/** The numbers of the cache of the store; none while there is no cache. */
export class CacheMetrics {
  #statistics: (() => WatchCacheStatistics) | undefined;

  constructor(registry: Registry) {
    const gauge = (
      name: string,
      help: string,
      value: (statistics: WatchCacheStatistics) => number,
    ): void => {
      const made: Gauge = new Gauge({
        name: `stackwright_store_cache_${name}`,
        help,
        registers: [registry],
        collect: () => {
          if (this.#statistics !== undefined) made.set(value(this.#statistics()));
        },
      });
    };
    gauge("kinds", "Kinds of the store that are kept in memory.", ({ types }) => types);
    gauge(
      "refused_kinds",
      "Kinds that are not kept for a while, as they are too large or have damaged resources.",
      ({ refused }) => refused,
    );
    gauge("resources", "Resources of these kinds.", ({ resources }) => resources);
    gauge("bytes", "Bytes that they take in memory, roughly.", ({ bytes }) => bytes);
    gauge("watches", "Watches that are fed from memory.", ({ watches }) => watches);
    const calls: Counter<"operation" | "from"> = new Counter({
      name: "stackwright_store_cache_calls_total",
      help: "Calls of the store by what answered them: memory, or the engine.",
      labelNames: ["operation", "from"],
      registers: [registry],
      collect: () => {
        if (this.#statistics === undefined) return;
        const { hits, misses } = this.#statistics();
        calls.reset();
        for (const operation of CALLS) {
          calls.inc({ operation, from: "memory" }, hits[operation]);
          calls.inc({ operation, from: "engine" }, misses[operation]);
        }
      },
    });
  }

  /** Begins to read the cache when metrics are read. */
  readBy(statistics: () => WatchCacheStatistics): void {
    this.#statistics = statistics;
  }
}

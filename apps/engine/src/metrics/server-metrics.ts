import type { Clock } from "@stackwright/base/clock";
import type { HistorySize, StorageObserver, WatchCacheStatistics } from "@stackwright/storage";
import type { FastifyInstance, FastifyRequest } from "fastify";
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from "prom-client";
import { AccessMetrics } from "./access-metrics.ts";
import { CacheMetrics } from "./cache-metrics.ts";
import { HistoryMetrics } from "./history-metrics.ts";
import { LiveMetrics } from "./live-metrics.ts";
import { RunMetrics } from "./run-metrics.ts";
import { createStoreMetrics } from "./store-metrics.ts";
import { UpstreamMetrics } from "./upstream-metrics.ts";

/** The numbers of one server, in a registry of their own. */
export class ServerMetrics implements Disposable {
  readonly registry = new Registry();
  readonly store: StorageObserver;
  readonly runs: RunMetrics;
  readonly live: LiveMetrics;
  readonly upstream: UpstreamMetrics;
  readonly access: AccessMetrics;
  readonly #cache: CacheMetrics;
  readonly #history: HistoryMetrics;
  readonly #durations: Histogram<"method" | "route" | "status">;
  readonly #running: Gauge;
  readonly #maintained: Counter<"what">;
  #skewMs: (() => Promise<number | undefined>) | undefined;

  /** `engine` is the kind of the store. */
  constructor({ engine, clock }: { readonly engine: string; readonly clock: Clock }) {
    const registers = [this.registry];
    this.store = createStoreMetrics(this.registry, engine);
    this.#cache = new CacheMetrics(this.registry);
    this.#history = new HistoryMetrics(this.registry, clock);
    this.runs = new RunMetrics(this.registry, clock);
    this.live = new LiveMetrics(this.registry);
    this.upstream = new UpstreamMetrics(this.registry);
    this.access = new AccessMetrics(this.registry);
    collectDefaultMetrics({ register: this.registry, prefix: "stackwright_" });
    this.#durations = new Histogram({
      name: "stackwright_http_request_seconds",
      help: "Time from the head of a request to the end of its response.",
      labelNames: ["method", "route", "status"],
      buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10, 60],
      registers,
    });
    this.#running = new Gauge({
      name: "stackwright_http_requests_running",
      help: "Requests that are being answered.",
      registers,
    });
    const skewMs = async (): Promise<number> => (await this.#skewMs?.()) ?? 0;
    const skew: Gauge = new Gauge({
      name: "stackwright_clock_skew_seconds",
      help: "By how much the clock of this server is ahead of that of its store, at the least.",
      registers: [],
      collect: async () => skew.set((await skewMs()) / 1_000),
    });
    this.registry.registerMetric(skew);
    this.#maintained = new Counter({
      name: "stackwright_maintenance_total",
      help: "Records that maintenance removed, and functions that it checked.",
      labelNames: ["what"],
      registers,
    });
  }

  /** Observes every request of a server. Labels are routes, never addresses: there are few of them. */
  observe(fastify: FastifyInstance): void {
    const started = new WeakMap<FastifyRequest, number>();
    fastify.addHook("onRequest", async (request) => {
      started.set(request, performance.now());
      this.#running.inc();
    });
    fastify.addHook("onResponse", async (request, reply) => {
      this.#running.dec();
      const seconds = (performance.now() - (started.get(request) ?? performance.now())) / 1000;
      const route = request.routeOptions.url ?? "none";
      const labels = { method: request.method, route, status: String(reply.statusCode) };
      this.#durations.observe(labels, seconds);
    });
    fastify.addHook("onRequestAbort", async (request) => {
      if (started.has(request)) this.#running.dec();
    });
  }

  /** Begins to compare clocks when metrics are read. */
  readSkewBy(skewMs: () => Promise<number | undefined>): void {
    this.#skewMs = skewMs;
  }

  /** Begins to ask the store for the size of its history when metrics are read. */
  readHistoryBy(size: (signal: AbortSignal) => Promise<HistorySize>): void {
    this.#history.readBy(size);
  }

  /** Begins to read the cache of the store when metrics are read. */
  readCacheBy(statistics: () => WatchCacheStatistics): void {
    this.#cache.readBy(statistics);
  }

  maintained(what: string, count: number): void {
    if (count > 0) this.#maintained.inc({ what }, count);
  }

  [Symbol.dispose](): void {
    this.registry.clear();
  }
}

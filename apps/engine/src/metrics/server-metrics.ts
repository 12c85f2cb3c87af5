import type { Clock } from "@stackwright/base/clock";
import type { HistorySize, StorageObserver, WatchCacheStatistics } from "@stackwright/storage";
import type { FastifyInstance, FastifyRequest } from "fastify";
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from "prom-client";
import type { ClockStanding } from "../clock/server-clock.ts";
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
  #clock: (() => Promise<ClockStanding>) | undefined;

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
    const standing = async (): Promise<Partial<ClockStanding>> => (await this.#clock?.()) ?? {};
    const skew: Gauge = new Gauge({
      name: "stackwright_clock_skew_seconds",
      help: "By how much the clock of this server is ahead of that of its store, or of those of most servers, at the least.",
      registers: [],
      collect: async () => skew.set(((await standing()).skewMs ?? 0) / 1_000),
    });
    this.registry.registerMetric(skew);
    const waits: Gauge = new Gauge({
      name: "stackwright_clock_reactions_paused",
      help: "Whether this server leaves what is due by the time to others, as its clock differs: 1 or 0.",
      registers: [],
      collect: async () => waits.set((await standing()).mayReact === false ? 1 : 0),
    });
    this.registry.registerMetric(waits);
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
  readClockBy(standing: () => Promise<ClockStanding>): void {
    this.#clock = standing;
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

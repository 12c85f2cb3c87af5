import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { systemClock } from "@stackwright/base/clock";
import { RunTicket } from "@stackwright/proto/stackwright";
import { createWatchCache, type Resource, type StorageBackend } from "@stackwright/storage";
import { createMemoryStorage } from "@stackwright/storage/memory";
import { Counter, Histogram } from "prom-client";
import { describe, expect, it } from "vitest";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
import { problemsOf } from "../testing/prometheus-expression.ts";
import { kindClassOf } from "./kind-class.ts";
import { observeStore } from "./observe-store.ts";
import { ServerMetrics } from "./server-metrics.ts";

const PAGE = join(import.meta.dirname, "../../docs/metrics.md");
const RULES = join(import.meta.dirname, "../../docs/alert-rules.yaml");

const createMetrics = () => new ServerMetrics({ engine: "memory", clock: systemClock });

/** Such as `stackwright_store_watches`, of the first column of a table. */
async function documentedNames(): Promise<readonly string[]> {
  const page = await readFile(PAGE, "utf8");
  return [...page.matchAll(/^\| `(stackwright_[a-z0-9_]+)`/gm)].map(([, name = ""]) => name);
}

it.runIf(process.platform === "linux")(
  "each metric is documented, and each documented one exists",
  async () => {
    using metrics = createMetrics();
    const names = metrics.registry.getMetricsAsArray().map(({ name }) => name);
    expect((await documentedNames()).toSorted()).toEqual(names.toSorted());
  },
);

/** The metrics by name, with what the page says of their labels. */
function metricsOf({ registry }: ServerMetrics) {
  return new Map(
    registry.getMetricsAsArray().map((metric) => {
      const { name, help, labelNames } = metric as unknown as {
        readonly name: string;
        readonly help: string;
        readonly labelNames: readonly string[];
      };
      const type =
        metric instanceof Histogram ? "histogram" : metric instanceof Counter ? "counter" : "gauge";
      return [name, { type, help, labels: [...labelNames] }] as const;
    }),
  );
}

/** Named by the library that measures the process. */
const FOREIGN = /^stackwright_(?:process|nodejs)_/;

it("the labels of each metric are those of the page", async () => {
  using metrics = createMetrics();
  const page = await readFile(PAGE, "utf8");
  const rows = [
    ...page.matchAll(/^\| `(stackwright_[a-z0-9_]+)` +\| ([^|]*) \| [^|]*\S[^|]* \|$/gm),
  ];
  expect(rows.length).toBeGreaterThan(20);
  const known = metricsOf(metrics);
  for (const [, name = "", cell = ""] of rows) {
    if (FOREIGN.test(name)) continue;
    const named = Array.from(cell.matchAll(/`([a-z_]+)`/g), ([, label]) => label);
    expect([name, new Set(named)]).toEqual([name, new Set(known.get(name)?.labels)]);
  }
});

it("names and units are as Prometheus has them", () => {
  using metrics = createMetrics();
  for (const [name, { type, help, labels }] of metricsOf(metrics)) {
    expect(name).toMatch(/^stackwright(?:_[a-z0-9]+)+$/);
    expect(help, name).not.toBe("");
    if (FOREIGN.test(name)) continue;
    expect(help, name).toMatch(/^[A-Z].*\.$/);
    // Base units: seconds and bytes.
    expect(name).not.toMatch(
      /_(?:ms|millis|milliseconds|minutes|hours|kib|mib|kilobytes|percent)(?:_|$)/,
    );
    expect(name.endsWith("_total"), name).toBe(type === "counter");
    expect(name).not.toMatch(/_(?:count|sum|bucket|info)$/);
    if (type === "histogram") expect(name).toMatch(/_(?:seconds|bytes)$/);
    for (const label of labels) {
      expect(label).toMatch(/^[a-z][a-z_]*$/);
      expect(["le", "quantile", "job", "instance"]).not.toContain(label);
    }
  }
});

/** The names and the expressions of the alerts. */
async function alertRules(): Promise<readonly (readonly [string, string])[]> {
  const text = await readFile(RULES, "utf8");
  return text
    .split(/^ {6}- alert: /m)
    .slice(1)
    .map((rule) => {
      const [, line = "", block] = /^ {8}expr: (\|)?(.*(?:\n {10}.*)*)$/m.exec(rule) ?? [];
      return [rule.slice(0, rule.indexOf("\n")), (block ?? line).trim()] as const;
    });
}

it("the expressions of the alerts are sound, and ask for metrics and labels that exist", async () => {
  using metrics = createMetrics();
  const known = metricsOf(metrics);
  const rules = await alertRules();
  expect(rules.length).toBeGreaterThan(10);
  expect(new Set(rules.map(([name]) => name)).size).toBe(rules.length);
  for (const [name, expression] of rules) {
    expect([name, problemsOf(expression, known)]).toEqual([name, []]);
  }
  expect(await readFile(RULES, "utf8")).not.toMatch(/\t| $/m);
});

it.each([
  ["max(stackwright_queue_age)", "there is no metric"],
  ["max(stackwright_queue_oldest_seconds", 'is expected instead of ""'],
  ["max(rate(stackwright_queue_oldest_seconds[5m]))", "is a gauge"],
  ["sum(stackwright_store_failures_total) > 1", "is a counter"],
  ["sum(rate(stackwright_store_failures_total))", "is not taken over a range"],
  ["sum(rate(stackwright_run_wait_seconds[5m]))", "is a histogram"],
  ["sum by (stack) (rate(stackwright_run_wait_seconds_count[5m])) > 1", "has no label stack"],
  ['max(stackwright_worker_steps_running{pool="x"})', "has no label pool"],
  ["median(stackwright_worker_capacity)", "there is no metric"],
  ["max(stackwright_worker_capacity) § 1", "cannot be read"],
])("the check of expressions refuses %s", (expression, problem) => {
  using metrics = createMetrics();
  expect(problemsOf(expression, metricsOf(metrics)).join()).toContain(problem);
});

const TYPE = { group: "stackwright", groupVersion: "v1", kind: "Stack" };
const ANYWHERE = { partition: "*", peerName: "*", namespace: "*" };

function resourceOf(name: string): Resource {
  const tenancy = { partition: "a", peerName: "local", namespace: "b" };
  const id = { uid: "u", name, type: TYPE, tenancy };
  return { id, version: "", generation: "", metadata: {}, status: {} };
}

/** A store whose calls are counted. */
function observed(storage: StorageBackend, metrics: ServerMetrics) {
  return observeStore(
    {
      storage,
      blobs: undefined as never,
      shared: false,
      renewal: undefined,
      [Symbol.asyncDispose]: async () => undefined,
    },
    metrics.store,
  );
}

describe("the metrics of a store", () => {
  it("have few series, whatever clients store", async () => {
    using metrics = createMetrics();
    await using storage = createMemoryStorage();
    const store = observed(storage, metrics);
    for (let count = 0; count < 50; count += 1) {
      await store.storage.writeCAS({
        id: {
          uid: "u",
          name: `name-${count}`,
          type: { group: `group-${count}`, groupVersion: "v1", kind: `Kind${count}` },
          tenancy: { partition: "a", peerName: "local", namespace: "b" },
        },
        version: "",
        generation: "",
        metadata: {},
        status: {},
      });
    }
    const text = await metrics.registry.metrics();
    const counts = text.match(/^stackwright_store_call_seconds_count.*$/gm);
    expect(counts).toEqual([
      'stackwright_store_call_seconds_count{engine="memory",operation="write",kinds="other"} 50',
    ]);
  });

  it("count calls that fail by their codes", async () => {
    using metrics = createMetrics();
    await using engine = createMemoryStorage();
    const { storage } = observed(engine, metrics);
    await expect(storage.read("strong", resourceOf("one").id)).rejects.toThrow();
    expect(await metrics.registry.metrics()).toContain(
      'stackwright_store_failures_total{engine="memory",operation="read",code="STORAGE_NOT_FOUND"} 1',
    );
  });

  it("count what watches deliver, how late that is, and the watches that the store closes", async () => {
    using metrics = createMetrics();
    await using engine = createMemoryStorage();
    const { storage } = observed(engine, metrics);
    const watch = await storage.watchList(TYPE, ANYWHERE, "");
    const next = async () => {
      for (;;) if ((await watch.next()).operation === "upsert") return;
    };
    const following = next();
    await storage.writeCAS(resourceOf("one"));
    await following;
    const text = await metrics.registry.metrics();
    expect(text).toMatch(/^stackwright_store_watch_events_total [1-9]/m);
    expect(text).toContain("stackwright_store_watches_closed_total 0");
    // What the store says of a sample, and of a watch that was too slow.
    metrics.store.lagged?.(250);
    metrics.store.watchOpened?.()("STORAGE_WATCH_CLOSED");
    const after = await metrics.registry.metrics();
    expect(after).toMatch(/^stackwright_store_watch_lag_seconds_count [1-9]/m);
    expect(after).toContain("stackwright_store_watches_closed_total 1");
  });

  it("know what each kind of the server is part of", () => {
    const { ticket, variable, user, vcsTask, upstreamProvider } = SERVER_KINDS;
    const kinds = [ticket, variable, user, vcsTask, upstreamProvider].map(({ type }) => type);
    expect(kinds.map(kindClassOf)).toEqual([
      "runs",
      "states",
      "access",
      "repositories",
      "registry",
    ]);
    expect(kindClassOf({ group: "stackwright", kind: "Fence" })).toBe("leases");
    expect(kindClassOf({ group: "foreign", kind: "Run" })).toBe("other");
    expect(kindClassOf(undefined)).toBe("other");
  });
});

it("the history of the store is counted, and stays while the store is away", async () => {
  let nowMs = 0;
  const clock = { ...systemClock, monotonicMs: () => nowMs };
  using metrics = new ServerMetrics({ engine: "sqlite", clock });
  let asked = 0;
  metrics.readHistoryBy(async () => {
    asked += 1;
    if (asked > 1) throw new Error("the store is away");
    return { events: 7, bytes: 700, oldestMs: 1_700_000_000_500 };
  });
  for (const atMs of [0, 1, 60_000]) {
    nowMs = atMs;
    const text = await metrics.registry.metrics();
    expect(text).toContain("stackwright_store_history_events 7");
    expect(text).toContain("stackwright_store_history_bytes 700");
    expect(text).toContain("stackwright_store_history_oldest_timestamp_seconds 1700000000.5");
  }
  expect(asked).toBe(2);
});

it("the cache of the store says what it holds and answers", async () => {
  using metrics = createMetrics();
  await using storage = createWatchCache(createMemoryStorage());
  metrics.readCacheBy(() => storage.cacheStatistics());
  await storage.writeCAS(resourceOf("one"));
  using _ = await storage.watchList(TYPE, ANYWHERE, "");
  const text = await metrics.registry.metrics();
  expect(text).toContain("stackwright_store_cache_kinds 1");
  expect(text).toContain("stackwright_store_cache_resources 1");
  expect(text).toContain("stackwright_store_cache_watches 1");
  expect(text).toContain("stackwright_store_cache_refused_kinds 0");
  expect(text).toMatch(/^stackwright_store_cache_bytes [1-9][0-9]*$/m);
  expect(text).toContain('stackwright_store_cache_calls_total{operation="watch",from="memory"} 1');
});

it("the clock of the server is said, and whether it reacts to the time", async () => {
  using metrics = createMetrics();
  expect(await metrics.registry.metrics()).toContain("stackwright_clock_reactions_paused 0");
  metrics.readClockBy(async () => ({ skewMs: 90_500, isDisputed: false, mayReact: false }));
  const text = await metrics.registry.metrics();
  expect(text).toContain("stackwright_clock_skew_seconds 90.5");
  expect(text).toContain("stackwright_clock_reactions_paused 1");
});

it("what maintenance removes is counted by what it is", async () => {
  using metrics = createMetrics();
  metrics.maintained("plans", 2);
  metrics.maintained("plans", 3);
  metrics.maintained("blobs", 0);
  const text = await metrics.registry.metrics();
  expect(text.match(/^stackwright_maintenance_total.*$/gm)).toEqual([
    'stackwright_maintenance_total{what="plans"} 5',
  ]);
});

it("packages of mirrored providers are counted with their bytes", async () => {
  using metrics = createMetrics();
  metrics.upstream.count("fetched", 1, 1_000);
  metrics.upstream.count("cached", 2, 2_000);
  const text = await metrics.registry.metrics();
  expect(text).toContain('stackwright_upstream_packages_total{event="cached"} 2');
  expect(text).toContain('stackwright_upstream_bytes_total{event="cached"} 2000');
  expect(text).toContain('stackwright_upstream_bytes_total{event="fetched"} 1000');
});

it("each metric of the server's own is named by a test that sees its value", async () => {
  using metrics = createMetrics();
  const root = join(import.meta.dirname, "../../..");
  const files: string[] = [];
  for (const folder of ["engine/src", "cli/src"]) {
    const names = await readdir(join(root, folder), { recursive: true });
    files.push(
      ...names.filter((name) => name.endsWith(".test.ts")).map((name) => join(root, folder, name)),
    );
  }
  const texts = await Promise.all(files.map(async (file) => readFile(file, "utf8")));
  const own = metrics.registry
    .getMetricsAsArray()
    .map(({ name }) => name)
    .filter((name) => !FOREIGN.test(name));
  // Those of the alerts that are refused are not looked up anywhere.
  const shown = texts.join("\n").replaceAll(/^ {2}\["(?:max|sum|median).*$/gm, "");
  const isSeen = (name: string): boolean =>
    new RegExp(`\\b(?:stackwright_)?${name.replace("stackwright_", "")}`).test(shown);
  expect(own.filter((name) => !isSeen(name))).toEqual([]);
});

describe("the metrics of runs", () => {
  const ticket = (createdAtMs: number, isClaimed = false, pool = "") => ({
    id: undefined as never,
    ticket: RunTicket.fromPartial({
      pool,
      createdAtMs: BigInt(createdAtMs),
      ...(isClaimed && { claim: { worker: "w" } }),
    }),
  });

  it("count what waits and how long the oldest does, and keep that while the store is away", async () => {
    let nowMs = 100_000;
    const clock = { ...systemClock, monotonicMs: () => nowMs, wallMs: () => nowMs };
    using metrics = new ServerMetrics({ engine: "memory", clock });
    let read = 0;
    metrics.runs.readQueueBy(async () => {
      read += 1;
      if (read > 1) throw new Error("the store is away");
      return [ticket(40_000), ticket(90_000, false, "gpu"), ticket(10_000, true, "gpu")];
    });
    const expectValues = async () => {
      const text = await metrics.registry.metrics();
      expect(text).toContain('stackwright_queue_tickets{pool="",state="waiting"} 1');
      expect(text).toContain('stackwright_queue_tickets{pool="gpu",state="waiting"} 1');
      expect(text).toContain('stackwright_queue_tickets{pool="gpu",state="claimed"} 1');
      expect(text).toContain("stackwright_queue_oldest_seconds 60");
    };
    await expectValues();
    await expectValues();
    expect(read).toBe(1);
    nowMs += 60_000;
    await expectValues();
    expect(read).toBe(2);
  });

  it("measure the steps of a worker by how they end", async () => {
    using metrics = createMetrics();
    const over = metrics.runs.begins("apply");
    expect(await metrics.registry.metrics()).toContain('steps_running{step="apply"} 1');
    over("lost");
    const text = await metrics.registry.metrics();
    expect(text).toContain('steps_running{step="apply"} 0');
    expect(text).toContain('stackwright_run_step_seconds_count{step="apply",end="lost"} 1');
    expect(text).toContain("stackwright_leases_lost_total 1");
  });

  it("say how many steps a worker takes at once, and how long each waited for it", async () => {
    using metrics = createMetrics();
    metrics.runs.capacity(3);
    metrics.runs.begins("plan", 1_500)("ended");
    // A step that another worker had begun has not waited for this one.
    metrics.runs.begins("plan")("ended");
    const text = await metrics.registry.metrics();
    expect(text).toContain("stackwright_worker_capacity 3");
    expect(text).toContain('stackwright_run_wait_seconds_count{step="plan"} 1');
    expect(text).toContain('stackwright_run_wait_seconds_sum{step="plan"} 1.5');
  });
});

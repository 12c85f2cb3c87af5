import { readFileSync } from "node:fs";
import { totalmem } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { backgroundCapacity } from "./queue/choose-ticket.ts";
import { helpOf, SERVE_OPTIONS } from "./serve-flags.ts";
import { memoryBoundOf } from "./step-bounds.ts";
import { WORKER_FLAGS } from "./worker-arguments.ts";

// What docs/sizing.md says of defaults, bounds, the record of measurements and the manifests. Its figures of memory are measured by hand.

const ROOT = join(import.meta.dirname, "../../..");
const source = (path: string): string => readFileSync(join(ROOT, path), "utf8");
const PAGE = source("docs/sizing.md");

describe("the options of the page", () => {
  it("are those of a server and of a worker", () => {
    const options = [...PAGE.matchAll(/`--([a-z-]+)/g)].map(([, name = ""]) => name);
    expect(options.length).toBeGreaterThan(8);
    // Each is known by one of the two; the pairs are written as the page explains them.
    const known = new Set([...Object.keys(SERVE_OPTIONS), ...Object.keys(WORKER_FLAGS)]);
    expect(options.filter((name) => !known.has(name))).toEqual([]);
    for (const [, ofServer = "", ofWorker = ""] of PAGE.matchAll(
      /\(`--([a-z-]+)`, for a worker `--([a-z-]+)`\)/g,
    )) {
      expect([Object.keys(SERVE_OPTIONS), Object.keys(WORKER_FLAGS)]).toEqual([
        expect.arrayContaining([ofServer]),
        expect.arrayContaining([ofWorker]),
      ]);
    }
  });

  it.each([
    [
      /up to (\d+) MiB \(`--store-cache-mib`\)/,
      "store-cache-mib",
      (value: string) => `${value} by default`,
    ],
    [
      /at most\s+(half) of the memory of the machine \(`--run-memory-mib`/,
      "run-memory-mib",
      (value: string) => `${value} of the machine's by default`,
    ],
    [
      /at the same time as it has (cores) \(`--run-capacity`/,
      "run-capacity",
      (value: string) => `the ${value} by default`,
    ],
  ] as const)("have the default that %s says", (pattern, option, text) => {
    const [, value = ""] = pattern.exec(PAGE) ?? [];
    expect(value).not.toBe("");
    expect(helpOf(option)).toContain(text(value));
  });

  it("give a step half of the memory of the machine", () => {
    expect(memoryBoundOf()).toBe(Math.floor(totalmem() / 2));
    expect(memoryBoundOf({ memoryMib: 128 })).toBe(128 * 1024 * 1024);
  });
});

it("plans of schedules have at most half of the places", () => {
  expect(PAGE).toContain("Plans of schedules have at most half of the places");
  for (const capacity of [2, 3, 4, 16]) {
    expect(backgroundCapacity(capacity)).toBeLessThanOrEqual(capacity / 2);
    expect(backgroundCapacity(capacity)).toBeGreaterThan(0);
  }
  expect(PAGE).toContain("where there is one place alone, they may have it");
  expect(backgroundCapacity(1)).toBe(1);
});

it.each([
  [
    "workers use the next one after 3 s",
    "apps/engine/src/remote-worker/server-group.ts",
    "SILENCE_MS = 3_000;",
  ],
  [
    "its lease expires after 15 s",
    "packages/storage/src/lease/lease-options.ts",
    "timing.ttlMs ?? 15_000;",
  ],
  [
    "the step ends with `out_of_memory`",
    "apps/engine/src/worker/stored-claim-host.ts",
    'return "out_of_memory";',
  ],
])("the page says %j, as the code does", (says, file, code) => {
  expect(PAGE).toContain(says);
  expect(source(file)).toContain(code);
});

it("its pull requests are those of the record, rounded", () => {
  const record = source("bench/server/BENCHMARKS.md");
  const row = (name: string): readonly number[] => {
    const [, cells = ""] = new RegExp(`^\\| ${name} +\\|(.*)\\|$`, "m").exec(record) ?? [];
    return cells.split("|").map(Number);
  };
  const said = (pattern: RegExp): readonly number[] =>
    (pattern.exec(PAGE) ?? []).slice(1).map(Number);
  const [count = 0, commentHalf = 0, , commentMost = 0] = row("push to comment");
  const [waits = 0, waitHalf = 0, , waitMost = 0] = row("wait for a worker");
  expect(said(/^- (\d+) pull requests in an hour/m)).toEqual([count]);
  expect(waits).toBe(count * 10);
  expect(said(/it took (\d+) s for half of them, and at most (\d+) s/)).toEqual([
    Math.round(commentHalf),
    Math.ceil(commentMost),
  ]);
  expect(said(/a run waited (\d+) s for a worker, and (\d+) s at most/)).toEqual([
    Math.round(waitHalf),
    Math.round(waitMost),
  ]);
});

describe("the manifests that the page names", () => {
  const MANIFEST = source("examples/kubernetes/stackwright.yaml");
  const documents = MANIFEST.split(/^---$/m);
  const deployment = (name: string): string =>
    documents.find(
      (one) => /^kind: (?:Deployment|StatefulSet)$/m.test(one) && one.includes(`- name: ${name}\n`),
    ) ?? "";
  const MIB: Readonly<Record<string, number>> = { Mi: 1, Gi: 1024 };
  const limitOf = (text: string): number => {
    const [, count = "0", unit = ""] = /limits:\n +memory: (\d+)(\w+)/.exec(text) ?? [];
    return Number(count) * (MIB[unit] ?? 0);
  };

  it("have two servers and two workers, apart from one another, and keep them while nodes are emptied", () => {
    expect(PAGE).toContain("two servers and two workers on PostgreSQL");
    for (const name of ["server", "worker"]) {
      const text = deployment(name);
      expect([name, /^ {2}replicas: (\d+)$/m.exec(text)?.[1]]).toEqual([name, "2"]);
      expect(text).toContain("topologySpreadConstraints:");
      expect(text).toContain("path: /readyz");
    }
    const pods = source("examples/kubernetes/runs-in-pods.yaml");
    expect(pods.match(/topologySpreadConstraints:/g)).toHaveLength(
      pods.match(/^kind: Deployment$/gm)?.length ?? 0,
    );
    const kept = documents.filter((one) => one.includes("kind: PodDisruptionBudget"));
    expect(kept).toHaveLength(2);
    expect(deployment("server")).toContain("--drain-delay=");
  });

  it("give a worker more memory than its steps have together, as the formula of the page says", () => {
    expect(PAGE).toContain("server + steps at the same time x memory of a step");
    const worker = deployment("worker");
    const capacity = Number(/--capacity=(\d+)/.exec(worker)?.[1]);
    const memory = Number(/--memory-mib=(\d+)/.exec(worker)?.[1]);
    expect(capacity * memory).toBeGreaterThan(0);
    expect(limitOf(worker)).toBeGreaterThan(capacity * memory);
  });

  it("give a server more memory than the page measured for most objects, where runs are elsewhere", () => {
    const [, most = ""] = /knows 400,000 objects +\| \d+ MiB, (\d+) MiB/.exec(PAGE) ?? [];
    expect(Number(most)).toBeGreaterThan(0);
    expect(limitOf(deployment("server"))).toBeGreaterThan(Number(most));
    expect(deployment("server")).toContain("--executor=none");
  });
});

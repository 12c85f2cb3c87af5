import { mkdtempDisposable } from "node:fs/promises";
import { cpus, loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { createPostgresStorage } from "@stackwright/storage/postgres";
import { createSqliteStorage } from "@stackwright/storage/sqlite";
import postgres from "postgres";
import { benchEtcd } from "./etcd.ts";
import { printLatencies } from "./latency.ts";
import { benchLists } from "./lists.ts";
import type { Effort } from "./measure.ts";
import { benchMemory } from "./memory.ts";
import { benchMillion } from "./million.ts";
import { benchPostgres } from "./postgres.ts";
import { benchProcesses } from "./processes.ts";
import { benchRemoteWatches } from "./remote-watches.ts";
import { benchSqlite } from "./sqlite/run.ts";
import { benchWatches } from "./watches.ts";

// node --expose-gc bench/storage/run.ts [section ...]; BENCH_ROUNDS and BENCH_ROUND_MS set the effort.

const effort: Effort = {
  rounds: Number(process.env.BENCH_ROUNDS ?? 31),
  roundMs: Number(process.env.BENCH_ROUND_MS ?? 150),
};

const chosen = process.argv.slice(2);

/** What can be measured. Each gives rows for the table of latencies, or none when it was skipped. */
const sections: Readonly<Record<string, () => Promise<readonly string[][]>>> = {
  memory: async () => [await benchMemory(effort)],
  sqlite: async () => [await benchSqlite(effort)],
  postgres: async () => {
    const { TEST_POSTGRES_URL: url } = process.env;
    if (url !== undefined) return [await benchPostgres(effort, url)];
    console.log("\npostgres: skipped, TEST_POSTGRES_URL names no server");
    return [];
  },
  processes: async () => {
    const { TEST_POSTGRES_URL: url } = process.env;
    if (url !== undefined) await benchProcesses(effort, url);
    else console.log("\nprocesses: skipped, TEST_POSTGRES_URL names no server");
    return [];
  },
  watches: async () => {
    const rounds = Math.max(1, Math.min(5, Math.round(effort.rounds / 6)));
    await using scratch = await mkdtempDisposable(join(tmpdir(), "bench-watches-"));
    await benchWatches(
      "sqlite",
      async () => createSqliteStorage({ directory: scratch.path }),
      rounds,
    );
    const { TEST_POSTGRES_URL: url } = process.env;
    if (url === undefined) {
      console.log("\nwatches of postgres: skipped, TEST_POSTGRES_URL names no server");
      return [];
    }
    const schema = `bench_watches_${process.pid}`;
    try {
      await benchWatches("PostgreSQL", async () => createPostgresStorage({ url, schema }), rounds);
    } finally {
      const admin = postgres(url, { max: 1, onnotice: () => undefined });
      await admin`DROP SCHEMA IF EXISTS ${admin(schema)} CASCADE`;
      await admin.end();
    }
    return [];
  },
  "remote-watches": async () => {
    await benchRemoteWatches(Math.max(3, Math.round(effort.rounds / 3)));
    return [];
  },
  lists: async () => {
    const { BENCH_RESOURCES: largest = "1000000" } = process.env;
    // Takes minutes, so only where it is asked for.
    if (!chosen.includes("lists")) return [];
    const sizes = [10_000, 100_000, 1_000_000].filter((size) => size <= Number(largest));
    const engines = process.env.BENCH_ENGINES?.split(",");
    await benchLists(effort, sizes, engines);
    return [];
  },
  million: async () => {
    const { TEST_POSTGRES_URL: url, BENCH_RESOURCES: resources = "1000000" } = process.env;
    // Takes minutes, so only where it is asked for.
    if (!chosen.includes("million")) return [];
    if (url !== undefined) await benchMillion(url, Number(resources));
    else console.log("\nmillion: skipped, TEST_POSTGRES_URL names no server");
    return [];
  },
  etcd: async () => {
    const { TEST_ETCD_CLUSTER_ENDPOINTS: endpoints } = process.env;
    if (endpoints !== undefined) return [await benchEtcd(effort, endpoints.split(","))];
    console.log("\netcd: skipped, TEST_ETCD_CLUSTER_ENDPOINTS names no servers");
    return [];
  },
};

for (const name of chosen) {
  if (sections[name] === undefined) {
    throw new Error(`no section ${name}; there are ${Object.keys(sections).join(", ")}`);
  }
}

console.log(
  `Node ${process.version}, ${cpus().length} x ${cpus()[0]?.model ?? "unknown"}, ` +
    `load ${loadavg()[0]?.toFixed(1)}; ${effort.rounds} rounds of ${effort.roundMs} ms`,
);
const latencies: string[][] = [];
for (const [name, run] of Object.entries(sections)) {
  if (chosen.length === 0 || chosen.includes(name)) latencies.push(...(await run()));
}
printLatencies(latencies);

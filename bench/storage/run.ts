import { cpus, loadavg } from "node:os";
import { printLatencies } from "./latency.ts";
import type { Effort } from "./measure.ts";
import { benchMemory } from "./memory.ts";
import { benchSqlite } from "./sqlite/run.ts";

// node --expose-gc bench/storage/run.ts [section ...]; BENCH_ROUNDS and BENCH_ROUND_MS set the effort.

const effort: Effort = {
  rounds: Number(process.env.BENCH_ROUNDS ?? 31),
  roundMs: Number(process.env.BENCH_ROUND_MS ?? 150),
};

/** What can be measured. Each gives rows for the table of latencies, or none when it was skipped. */
const sections: Readonly<Record<string, () => Promise<readonly string[][]>>> = {
  memory: async () => [await benchMemory(effort)],
  sqlite: async () => [await benchSqlite(effort)],
};

const chosen = process.argv.slice(2);
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

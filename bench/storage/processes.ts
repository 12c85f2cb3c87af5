import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import postgres from "postgres";
import { type Effort, quantile } from "./measure.ts";
import { bareOperation } from "./postgres.ts";
import { fine, printTable, whole } from "./report.ts";

/** Latencies of what one process wrote in a round, in milliseconds. */
export interface Lot {
  readonly latencies: readonly number[];
}

/** Several processes on one store have to reach this share of what one process does with as many writers. */
const TARGET = 0.9;

const ENTRY = fileURLToPath(new URL("./process-writer.ts", import.meta.url));

/**
 * What the PostgreSQL engine writes when the same number of writers is in one, two and four processes, against bare
 * postgres.js in this one. Makes and drops a schema of its own.
 */
export async function benchProcesses({ rounds, roundMs }: Effort, url: string): Promise<void> {
  const schema = `bench_processes_${process.pid}`;
  const bare = postgres(url, {
    max: 8,
    fetch_types: false,
    connection: { search_path: schema },
    onnotice: () => undefined,
  });
  try {
    for (const writers of [4, 16]) {
      const groups: Writers[] = [];
      for (const processes of [1, 2, 4]) {
        groups.push(await startWriters(url, schema, processes, writers));
      }
      const operation = await bareOperation(bare, writers);
      const subjects = [
        ...groups.map(({ name, write }) => ({
          name,
          write,
          rates: [] as number[],
          lots: [] as number[],
        })),
        {
          name: "bare postgres.js, the same function",
          write: (forMs: number) => writeBare(operation, writers, forMs),
          rates: [] as number[],
          lots: [] as number[],
        },
      ];
      for (let round = -1; round < rounds; round += 1) {
        for (const subject of subjects) {
          const started = performance.now();
          const latencies = await subject.write(roundMs);
          // The first round warms up.
          if (round < 0) continue;
          subject.rates.push((latencies.length / (performance.now() - started)) * 1_000);
          subject.lots.push(...latencies);
        }
      }
      const first = subjects[0];
      const rows = subjects.map(({ name, rates, lots }) => {
        const ratios = rates.map((rate, round) => rate / (first?.rates[round] ?? rate));
        return [
          name,
          whole(quantile(rates, 0.5)),
          `${whole(Math.min(...rates))}-${whole(Math.max(...rates))}`,
          fine(quantile(lots, 0.5)),
          fine(quantile(lots, 0.99)),
          `${quantile(ratios, 0.5).toFixed(2)}x`,
        ];
      });
      printTable(
        `PostgreSQL, ${writers} writers in several processes (target: at least ${TARGET}x of one process)`,
        ["what", "per second", "min-max", "p50 ms", "p99 ms", "rate"],
        rows,
      );
      for (const group of groups) await group.stop();
    }
  } finally {
    await bare`DROP SCHEMA IF EXISTS ${bare(schema)} CASCADE`;
    await bare.end();
  }
}

interface Writers {
  readonly name: string;
  /** Latencies of all that was written. */
  readonly write: (forMs: number) => Promise<readonly number[]>;
  readonly stop: () => Promise<void>;
}

async function startWriters(
  url: string,
  schema: string,
  processes: number,
  writers: number,
): Promise<Writers> {
  const children: ChildProcess[] = [];
  for (let index = 0; index < processes; index += 1) {
    const child = fork(ENTRY, [url, schema, String(writers / processes)]);
    await once(child, "message");
    children.push(child);
  }
  return {
    name: `${processes} ${processes === 1 ? "process" : "processes"}`,
    write: async (forMs) => {
      const answers = children.map(async (child) => {
        const answer = once(child, "message");
        child.send(forMs);
        return ((await answer)[0] as Lot).latencies;
      });
      return (await Promise.all(answers)).flat();
    },
    stop: async () => {
      for (const child of children) {
        const exited = once(child, "exit");
        child.disconnect();
        await exited;
      }
    },
  };
}

async function writeBare(
  operation: (caller: number, count: number) => Promise<unknown>,
  writers: number,
  forMs: number,
): Promise<readonly number[]> {
  const latencies: number[] = [];
  const until = performance.now() + forMs;
  await Promise.all(
    Array.from({ length: writers }, async (_, caller) => {
      for (let before = performance.now(), count = 0; before < until; before = performance.now()) {
        await operation(caller, count);
        count += 1;
        latencies.push(performance.now() - before);
      }
    }),
  );
  return latencies;
}

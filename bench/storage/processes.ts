import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { createPostgresStorage } from "@stackwright/storage/postgres";
import { recordFigure, spreadOf } from "@stackwright-bench/figures";
import postgres from "postgres";
import { type Effort, quantile } from "./measure.ts";
import { serverUsage, usedBetween } from "./processor-time.ts";
import { fine, printTable, whole } from "./report.ts";

/** What one process wrote in a round: latencies in milliseconds, and its time on processors. */
export interface Lot {
  readonly latencies: readonly number[];
  readonly cpuUs: number;
}

/** Several processes on one store have to reach this share of what one process does with as many writers. */
const TARGET = 0.9;

/** Rounds that are not counted: each process compiles its code for itself, by what it has run. */
const WARM_UP_ROUNDS = 4;

const ENTRY = fileURLToPath(new URL("./process-writer.ts", import.meta.url));

/** What is known of the rounds of a subject. */
interface Measured {
  readonly name: string;
  readonly writers: Writers;
  readonly rates: number[];
  readonly lots: number[];
  /** Microseconds of processors for each write: of the processes, and of the server. */
  readonly client: number[];
  readonly server: number[];
  readonly switches: number[];
}

/**
 * What the PostgreSQL engine writes when the same number of writers is in one, two and four processes, against bare
 * postgres.js in as many, which is what more processes cost by themselves. Makes and drops schemas of its own.
 */
export async function benchProcesses({ rounds, roundMs }: Effort, url: string): Promise<void> {
  const schemas: string[] = [];
  const admin = postgres(url, { max: 1, onnotice: () => undefined });
  try {
    const usage = await serverUsage(admin);
    for (const writers of [4, 16]) {
      const subjects: Measured[] = [];
      for (const [kind, name] of [
        ["engine", ""],
        ["watched", "each with a watch of all, "],
        ["bare", "bare postgres.js, "],
      ] as const) {
        for (const count of [1, 2, 4]) {
          // Each in a store of its own: an instance remembers for a while that others have written to its store.
          const schema = `bench_${process.pid}_${kind}_${writers}_${count}`;
          schemas.push(schema);
          await (await createPostgresStorage({ url, schema })).close();
          subjects.push({
            name: `${name}${count} ${count === 1 ? "process" : "processes"}`,
            writers: await startWriters([kind, url, schema], count, writers),
            rates: [],
            lots: [],
            client: [],
            server: [],
            switches: [],
          });
        }
      }
      for (let round = -WARM_UP_ROUNDS; round < rounds; round += 1) {
        for (const subject of subjects) {
          const before = usage();
          const started = performance.now();
          const { latencies, cpuUs } = await subject.writers.write(roundMs);
          const elapsed = performance.now() - started;
          const used = usedBetween(before, usage());
          if (round < 0) continue;
          subject.rates.push((latencies.length / elapsed) * 1_000);
          subject.lots.push(...latencies);
          subject.client.push(cpuUs / latencies.length);
          subject.server.push(used.us / latencies.length);
          subject.switches.push(used.switches / latencies.length);
        }
      }
      printTable(
        `PostgreSQL, ${writers} writers in several processes (target: at least ${TARGET}x of one process)`,
        [
          "what",
          "per second",
          "min-max",
          "p50 ms",
          "p99 ms",
          "rate",
          "processes us",
          "server us",
          "both",
          "server switches",
        ],
        subjects.map((subject) => toRow(subject, subjects[0] ?? subject)),
      );
      for (const subject of subjects) await subject.writers.stop();
      record(subjects, writers);
    }
  } finally {
    for (const schema of schemas) await admin`DROP SCHEMA IF EXISTS ${admin(schema)} CASCADE`;
    await admin.end();
  }
}

/** The time of a write by that of one process with as many writers: rates, so that less is better as elsewhere. */
function record([one, ...others]: readonly Measured[], writers: number): void {
  if (one === undefined) return;
  const timeOf = ({ name, rates }: Measured) =>
    spreadOf(
      name,
      rates.map((rate) => 1_000 / rate),
    );
  for (const subject of others) {
    recordFigure({
      name: `store: PostgreSQL, ${writers} writers, time of a write in ${subject.name}`,
      unit: "ms",
      size: writers,
      of: "writers",
      ours: timeOf(subject),
      baseline: timeOf(one),
      ...(subject.name === "4 processes" && { target: 1 / TARGET }),
    });
  }
}

function toRow(subject: Measured, first: Measured): string[] {
  const { name, rates, lots, client, server, switches } = subject;
  const ratios = rates.map((rate, round) => rate / (first.rates[round] ?? rate));
  const both = ({ client: own, server: other }: Measured): number[] =>
    own.map((us, round) => us + (other[round] ?? 0));
  const base = both(first);
  const costs = both(subject).map((us, round) => us / (base[round] ?? us));
  return [
    name,
    whole(quantile(rates, 0.5)),
    `${whole(Math.min(...rates))}-${whole(Math.max(...rates))}`,
    fine(quantile(lots, 0.5)),
    fine(quantile(lots, 0.99)),
    `${quantile(ratios, 0.5).toFixed(2)}x`,
    whole(quantile(client, 0.5)),
    whole(quantile(server, 0.5)),
    `${quantile(costs, 0.5).toFixed(2)}x`,
    quantile(switches, 0.5).toFixed(1),
  ];
}

interface Writers {
  /** Latencies of all that was written, and the time of all processes. */
  readonly write: (forMs: number) => Promise<Lot>;
  readonly stop: () => Promise<void>;
}

async function startWriters(
  subject: readonly [kind: string, url: string, schema: string],
  processes: number,
  writers: number,
): Promise<Writers> {
  const children: ChildProcess[] = [];
  for (let index = 0; index < processes; index += 1) {
    const child = fork(ENTRY, [...subject, String(writers / processes)]);
    await once(child, "message");
    children.push(child);
  }
  return {
    write: async (forMs) => {
      const answers = children.map(async (child) => {
        const answer = once(child, "message");
        child.send(forMs);
        return (await answer)[0] as Lot;
      });
      const lots = await Promise.all(answers);
      return {
        latencies: lots.flatMap(({ latencies }) => latencies),
        cpuUs: lots.reduce((sum, { cpuUs }) => sum + cpuUs, 0),
      };
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

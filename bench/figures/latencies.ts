import { recordFigure } from "./figure.ts";

/** One row of the report. */
interface LatencyRow {
  readonly what: string;
  readonly p50: number;
  readonly p10: number;
  readonly p99: number;
  /** Medians of the rounds, lowest and highest. */
  readonly low: number;
  readonly high: number;
}

interface Subject {
  readonly what: string;
  readonly call: () => Promise<unknown>;
}

const ROUNDS = 9;

/**
 * Latency of each call, one after the other, in microseconds. Subjects take turns, round by round, so that what else
 * the machine does meets all of them.
 */
export async function latencies(
  subjects: readonly Subject[],
  calls: number,
): Promise<LatencyRow[]> {
  const samples = subjects.map(() => new Float64Array(ROUNDS * calls));
  const medians = subjects.map((): number[] => []);
  for (const { call } of subjects) for (let i = 0; i < calls; i += 1) await call();
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const [index, { call }] of subjects.entries()) {
      const own =
        samples[index]?.subarray(round * calls, (round + 1) * calls) ?? new Float64Array();
      for (let i = 0; i < calls; i += 1) {
        const start = performance.now();
        await call();
        own[i] = (performance.now() - start) * 1000;
      }
      medians[index]?.push(quantile(own, 0.5));
    }
  }
  return subjects.map(({ what }, index) => {
    const all = samples[index] ?? new Float64Array();
    const rounds = medians[index] ?? [];
    return {
      what,
      p50: quantile(all, 0.5),
      p10: quantile(all, 0.1),
      p99: quantile(all, 0.99),
      low: Math.min(...rounds),
      high: Math.max(...rounds),
    };
  });
}

function quantile(values: Float64Array, q: number): number {
  return values.toSorted()[Math.floor(values.length * q)] ?? 0;
}

/**
 * Prints rows with what each adds to the first, and records them.
 *
 * @param area what the names of the figures begin with
 */
export function printLatencies(area: string, title: string, rows: readonly LatencyRow[]): void {
  const [base] = rows;
  console.log(`\n${title}\n`);
  console.log(
    "| what | p50 µs | medians of rounds | p10 µs | p99 µs | added p50 µs | of baseline |",
  );
  console.log("|---|---|---|---|---|---|---|");
  for (const { what, p50, p10, p99, low, high } of rows) {
    const added = base === undefined ? 0 : p50 - base.p50;
    const ratio = base === undefined ? 1 : p50 / base.p50;
    if (base !== undefined && base.what !== what) {
      recordFigure({
        name: `${area}: ${title}: ${what}`,
        unit: "us",
        size: 1,
        of: "call",
        ours: { subject: what, middle: p50, least: low, most: high },
        baseline: { subject: base.what, middle: base.p50, least: base.low, most: base.high },
      });
    }
    console.log(
      `| ${what} | ${p50.toFixed(2)} | ${low.toFixed(2)}-${high.toFixed(2)} | ${p10.toFixed(2)} | ${p99.toFixed(2)} | ${added.toFixed(2)} | ${ratio.toFixed(2)}x |`,
    );
  }
}

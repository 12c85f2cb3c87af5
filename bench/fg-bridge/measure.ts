/** One of the subjects that are compared. */
interface Subject {
  readonly what: string;
  readonly call: () => Promise<unknown>;
  /** Calls of this subject per round, if fewer than the others. */
  readonly calls?: number;
}

interface Latency {
  readonly what: string;
  readonly p50: number;
  readonly p99: number;
  readonly calls: number;
}

function quantile(sorted: readonly number[], q: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * q))] ?? Number.NaN;
}

/** Times single calls in milliseconds; the subjects take turns, so that other load on the machine hits all of them. */
export async function latencies(
  subjects: readonly Subject[],
  rounds: number,
  callsPerRound: number,
): Promise<Latency[]> {
  const times = subjects.map((): number[] => []);
  for (const { call } of subjects) await call();
  for (let round = 0; round < rounds; round++) {
    for (const [i, { call, calls = callsPerRound }] of subjects.entries()) {
      for (let n = 0; n < calls; n++) {
        const started = performance.now();
        await call();
        times[i]?.push(performance.now() - started);
      }
    }
  }
  return subjects.map(({ what }, i) => {
    const sorted = (times[i] ?? []).toSorted((a, b) => a - b);
    return { what, p50: quantile(sorted, 0.5), p99: quantile(sorted, 0.99), calls: sorted.length };
  });
}

export function printTable(
  title: string,
  header: readonly string[],
  rows: readonly (readonly (string | number)[])[],
): void {
  console.log(`\n## ${title}\n`);
  const line = (cells: readonly (string | number)[]) => console.log(`| ${cells.join(" | ")} |`);
  line(header);
  line(header.map(() => "---"));
  for (const row of rows)
    line(row.map((cell) => (typeof cell === "number" ? cell.toFixed(2) : cell)));
}

export function printLatencies(title: string, found: readonly Latency[]): void {
  const base = found[0]?.p50 ?? Number.NaN;
  printTable(
    title,
    ["what", "calls", "p50 ms", "p99 ms", "added p50 ms", "added p99 ms"],
    found.map(({ what, p50, p99, calls }, i) => [
      what,
      String(calls),
      p50,
      p99,
      i === 0 ? "" : p50 - base,
      i === 0 ? "" : p99 - (found[0]?.p99 ?? Number.NaN),
    ]),
  );
}

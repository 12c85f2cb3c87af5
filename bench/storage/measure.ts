// Every number that is compared with another one comes from the same run, in rounds that take turns:
// on a machine that others use as well, what changes from minute to minute then hits both.

/** Latencies of one lot of operations, in milliseconds, and how long the lot took. */
export interface Lot {
  readonly latencies: number[];
  readonly elapsedMs: number;
}

/** One operation of a subject; `worker` is the number of the concurrent caller. */
export type Operation = (worker: number, count: number) => Promise<unknown>;

/** What is measured: its name, and the operation. */
export interface Subject {
  readonly name: string;
  readonly operation: Operation;
  /** Callers at a time. @default 1 */
  readonly concurrency?: number;
}

/** What is known of a subject after all rounds. */
export interface Result {
  readonly name: string;
  readonly perSecond: number;
  /** Slowest and fastest round. */
  readonly spread: readonly [number, number];
  readonly p50: number;
  readonly p99: number;
  /** Median of the rounds' ratios of rates to the baseline of the same round. */
  readonly ratio: number | undefined;
  /** The baseline's median latency over this one's. */
  readonly latencyRatio: number | undefined;
}

/** How much is measured. */
export interface Effort {
  readonly rounds: number;
  readonly roundMs: number;
}

/** Lets `concurrency` callers repeat an operation for a while. */
export async function runLot(
  operation: Operation,
  concurrency: number,
  forMs: number,
): Promise<Lot> {
  const latencies: number[] = [];
  const started = performance.now();
  const until = started + forMs;
  await Promise.all(
    Array.from({ length: concurrency }, async (_, worker) => {
      for (let count = 0; ; count += 1) {
        const before = performance.now();
        if (before >= until) return;
        await operation(worker, count);
        latencies.push(performance.now() - before);
      }
    }),
  );
  return { latencies, elapsedMs: performance.now() - started };
}

/** Measures subjects in turns; the first is the baseline of the ratios. */
export async function compare(subjects: readonly Subject[], effort: Effort): Promise<Result[]> {
  const lots = subjects.map((): Lot[] => []);
  for (const subject of subjects) {
    // Not counted: compilers and caches warm up.
    await runLot(subject.operation, subject.concurrency ?? 1, effort.roundMs / 4);
  }
  for (let round = 0; round < effort.rounds; round += 1) {
    for (const [index, subject] of subjects.entries()) {
      const { operation, concurrency = 1 } = subject;
      lots[index]?.push(await runLot(operation, concurrency, effort.roundMs));
    }
  }
  const rates = lots.map((rounds) => rounds.map(rateOf));
  const latencies = lots.map((rounds) => rounds.flatMap((lot) => lot.latencies));
  const baseline = quantile(latencies[0] ?? [], 0.5);
  return subjects.map((subject, index) => {
    const own = rates[index] ?? [];
    const ratios = own.map((rate, round) => rate / (rates[0]?.[round] ?? rate));
    const p50 = quantile(latencies[index] ?? [], 0.5);
    return {
      name: subject.name,
      perSecond: median(own),
      spread: [Math.min(...own), Math.max(...own)],
      p50,
      p99: quantile(latencies[index] ?? [], 0.99),
      ratio: index === 0 ? undefined : median(ratios),
      latencyRatio: index === 0 ? undefined : baseline / p50,
    };
  });
}

/** The value below which a share of the values lies. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((left, right) => left - right);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

/** The middle value. */
export function median(values: readonly number[]): number {
  return quantile(values, 0.5);
}

function rateOf(lot: Lot): number {
  return (lot.latencies.length / lot.elapsedMs) * 1_000;
}

// Every number that is compared with another one comes from the same run, in rounds that take turns:
// on a machine that others use as well, what changes from minute to minute then hits both.

/** Latencies of one lot of operations, in milliseconds, and how long the lot took. */
interface Lot {
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
async function runLot(operation: Operation, concurrency: number, forMs: number): Promise<Lot> {
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
  // What was allocated to prepare the subjects is not to be marked while they run.
  globalThis.gc?.();
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

/**
 * Measures subjects of one caller each, operation by operation in turns: what disturbs the machine
 * disturbs all of them alike. The first is the baseline; rates are those of the summed latencies.
 */
export async function comparePaired(
  subjects: readonly Subject[],
  operations: number,
): Promise<Result[]> {
  const latencies = subjects.map((): number[] => []);
  const warmUp = Math.ceil(operations / 10);
  for (let count = 0; count < operations + warmUp; count += 1) {
    for (const [index, { operation }] of subjects.entries()) {
      const before = performance.now();
      await operation(0, count);
      if (count >= warmUp) latencies[index]?.push(performance.now() - before);
    }
  }
  const rates = latencies.map((own) => (own.length / sum(own)) * 1_000);
  const baseline = quantile(latencies[0] ?? [], 0.5);
  return subjects.map(({ name }, index) => {
    const own = latencies[index] ?? [];
    const p50 = quantile(own, 0.5);
    // The rate over tenths of the run stands in for rounds.
    const tenths = Array.from({ length: 10 }, (_, tenth) => {
      const part = own.slice((tenth * own.length) / 10, ((tenth + 1) * own.length) / 10);
      return (part.length / sum(part)) * 1_000;
    });
    return {
      name,
      perSecond: rates[index] ?? Number.NaN,
      spread: [Math.min(...tenths), Math.max(...tenths)],
      p50,
      p99: quantile(own, 0.99),
      ratio: index === 0 ? undefined : (rates[index] ?? 0) / (rates[0] ?? 1),
      latencyRatio: index === 0 ? undefined : baseline / p50,
    };
  });
}

/** Measures a lone caller pairwise, and several in rounds. */
export function compareCallers(
  subjects: readonly Subject[],
  callers: number,
  effort: Effort,
): Promise<Result[]> {
  if (callers > 1) return compare(subjects, effort);
  return comparePaired(subjects, effort.rounds * 50);
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

/** The value below which a share of the values lies. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((left, right) => left - right);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

/** The middle value. */
function median(values: readonly number[]): number {
  return quantile(values, 0.5);
}

function rateOf(lot: Lot): number {
  return (lot.latencies.length / lot.elapsedMs) * 1_000;
}

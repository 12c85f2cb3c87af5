/** One thing to time. May be asynchronous: it has ended when everything it caused is delivered. */
export type Operation = () => void | Promise<void>;

/**
 * Processor time of this thread in milliseconds. Unlike the clock it does not count the time in which
 * other work has the core; everything measured here is done by this one thread.
 */
export function threadMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}

/** Median of the rounds, and the lowest and highest of them. */
export interface Spread {
  readonly median: number;
  readonly low: number;
  readonly high: number;
}

export interface Timing {
  readonly ms: Spread;
  /** Against the first operation of the same round. */
  readonly ratio: Spread;
}

interface MeasureOptions {
  /** @default 5 */
  readonly rounds?: number;
  /** A sample repeats a short operation until about this long, as the processor clock is coarse. @default 200 */
  readonly sampleMs?: number;
  /** Processor time given to each operation before it is timed. @default 500 */
  readonly warmUpMs?: number;
}

/**
 * Times operations in rounds. Each round takes one sample of every operation, in an order that
 * rotates, so that a slow minute of the machine is everyone's. The first one is the baseline.
 */
export async function measure(
  operations: ReadonlyMap<string, Operation>,
  { rounds = 5, sampleMs = 200, warmUpMs = 500 }: MeasureOptions = {},
): Promise<Map<string, Timing>> {
  const entries = [...operations];
  const repeats = new Map<string, number>();
  for (const [name, run] of entries) repeats.set(name, await warmUp(run, sampleMs, warmUpMs));
  const samples = new Map(entries.map(([name]): [string, number[]] => [name, []]));
  for (let round = 0; round < rounds; round++) {
    for (let i = 0; i < entries.length; i++) {
      const [name, run] = entries[(i + round) % entries.length]!;
      const count = repeats.get(name)!;
      globalThis.gc?.();
      const start = threadMs();
      for (let j = 0; j < count; j++) await run();
      samples.get(name)!.push((threadMs() - start) / count);
    }
  }
  const baseline = samples.get(entries[0]![0])!;
  return new Map(
    [...samples].map(([name, times]) => [
      name,
      { ms: spread(times), ratio: spread(times.map((time, i) => time / baseline[i]!)) },
    ]),
  );
}

/** Lets the compiler settle; the result is how often to repeat the operation in a sample. */
export async function warmUp(run: Operation, sampleMs: number, warmUpMs: number): Promise<number> {
  await run();
  const start = threadMs();
  let spent = 0;
  let count = 0;
  while (count < 2 || spent < warmUpMs) {
    await run();
    count++;
    spent = threadMs() - start;
  }
  return Math.max(1, Math.round((sampleMs * count) / Math.max(spent, 1)));
}

export function spread(values: readonly number[]): Spread {
  const sorted = values.toSorted((a, b) => a - b);
  return { median: sorted[sorted.length >> 1]!, low: sorted[0]!, high: sorted.at(-1)! };
}

export function showSpread({ median, low, high }: Spread, digits = 2): string {
  return `${median.toFixed(digits)} (${low.toFixed(digits)}-${high.toFixed(digits)})`;
}

/** What is measured, by name; the first one is what the others are compared with. */
export type Cases = ReadonlyMap<string, () => unknown>;

export interface Timing {
  readonly medianMs: number;
  /** Middle half of the samples. */
  readonly quartilesMs: readonly [number, number];
  /** Median, and middle half, of the ratios to the first case of the same round. */
  readonly ratio: number;
  readonly ratioQuartiles: readonly [number, number];
}

const WARM_UP_MS = 1500;
const SAMPLE_MS = 30;

/**
 * Times functions in rounds: each round takes one sample of every case, in an order that rotates,
 * so that a slower minute of the machine is everyone's. A sample repeats a fast function until it
 * takes long enough to be timed.
 */
export function measure(cases: Cases, rounds: number): Map<string, Timing> {
  const repeats = new Map([...cases].map(([name, run]) => [name, warmUp(run)]));
  const samples = new Map([...cases.keys()].map((name): [string, number[]] => [name, []]));
  const entries = [...cases];
  for (let round = 0; round < rounds; round += 1) {
    for (let i = 0; i < entries.length; i += 1) {
      const [name, run] = entries[(i + round) % entries.length]!;
      const count = repeats.get(name)!;
      const start = performance.now();
      for (let j = 0; j < count; j += 1) run();
      samples.get(name)!.push((performance.now() - start) / count);
    }
  }
  const baseline = samples.get(entries[0]![0])!;
  return new Map(
    [...samples].map(([name, times]) => {
      const ratios = times.map((time, round) => time / baseline[round]!);
      return [
        name,
        {
          medianMs: quantile(times, 0.5),
          quartilesMs: [quantile(times, 0.25), quantile(times, 0.75)],
          ratio: quantile(ratios, 0.5),
          ratioQuartiles: [quantile(ratios, 0.25), quantile(ratios, 0.75)],
        },
      ];
    }),
  );
}

/** Lets the compiler settle; the result is how often to repeat the function in a sample. */
function warmUp(run: () => unknown): number {
  const start = performance.now();
  let last = 0;
  let count = 0;
  while (count < 3 || performance.now() - start < WARM_UP_MS) {
    const before = performance.now();
    run();
    last = performance.now() - before;
    count += 1;
  }
  return Math.max(1, Math.round(SAMPLE_MS / Math.max(last, 0.001)));
}

function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))]!;
}

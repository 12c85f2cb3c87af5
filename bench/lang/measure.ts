const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 15);

/** Milliseconds of one call: best, median, and half of the distance between the quartiles. */
export interface Measured {
  readonly best: number;
  readonly median: number;
  readonly spread: number;
}

export function measure(run: () => unknown, rounds = ROUNDS): Measured {
  for (let warm = 0; warm < 3; warm++) run();
  globalThis.gc?.();
  const times = Array.from({ length: rounds }, () => {
    const start = performance.now();
    run();
    return performance.now() - start;
  }).toSorted((a, b) => a - b);
  const at = (share: number): number => times[Math.round((times.length - 1) * share)] ?? 0;
  return { best: at(0), median: at(0.5), spread: (at(0.75) - at(0.25)) / 2 };
}

export function milliseconds({ best, median, spread }: Measured): string {
  return `${best.toFixed(2)} / ${median.toFixed(2)} ± ${spread.toFixed(2)}`;
}

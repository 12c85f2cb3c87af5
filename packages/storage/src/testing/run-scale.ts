/** How many times the usual loops a run makes, from `STACKWRIGHT_RUNS`; 1 in unit tests. */
export function runFactor(): number {
  return Math.max(1, Math.round(Number(process.env.STACKWRIGHT_RUNS ?? 1)));
}

/**
 * Seeds for as many random runs as the scale asks for, `STACKWRIGHT_SEED` further on than the usual
 * ones.
 */
export function runSeeds(usual: number): readonly number[] {
  const first = 1 + Number(process.env.STACKWRIGHT_SEED ?? 0);
  return Array.from({ length: usual * runFactor() }, (_, index) => first + index);
}

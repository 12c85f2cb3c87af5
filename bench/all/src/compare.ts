import type { Figure } from "@stackwright-bench/figures";
import { ratioOf } from "./curves.ts";

/** A figure whose ratio is worse than the recorded one by more than noise. */
interface Regression {
  readonly figure: Figure;
  readonly ratio: number;
  readonly recorded: number;
}

/**
 * The part by which a ratio may be above the recorded one: what rounds on a shared machine differ by. Of the rounds the best
 * for us is taken, so that one slow round is no regression.
 */
const NOISE = 1.5;

/** Figures by how much they got worse, the worst first. What was not recorded at that size is not judged. */
export function regressions(
  found: readonly Figure[],
  recorded: readonly Figure[],
): readonly Regression[] {
  const known = new Map(recorded.map((figure) => [keyOf(figure), ratioOf(figure)]));
  return found
    .flatMap((figure): Regression[] => {
      const before = known.get(keyOf(figure));
      const { ours, baseline } = figure;
      const ratio = (ours.least ?? ours.middle) / baseline.middle;
      return before !== undefined && ratio > before * NOISE
        ? [{ figure, ratio, recorded: before }]
        : [];
    })
    .toSorted((a, b) => b.ratio / b.recorded - a.ratio / a.recorded);
}

function keyOf({ name, size }: Figure): string {
  return `${size} ${name}`;
}

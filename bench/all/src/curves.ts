import type { Figure } from "@stackwright-bench/figures";

/** The figures of one name, by size: how a cost grows. */
export interface Curve {
  readonly name: string;
  readonly unit: string;
  readonly of: string;
  /** At least one, in ascending sizes. */
  readonly points: readonly [Figure, ...Figure[]];
}

/** Gathers figures by their name, in the order in which the names come first. Of the same name and size the last one counts. */
export function curvesOf(figures: readonly Figure[]): readonly Curve[] {
  const found = new Map<string, Map<number, Figure>>();
  for (const figure of figures) {
    const points = found.get(figure.name) ?? new Map<number, Figure>();
    points.set(figure.size, figure);
    found.set(figure.name, points);
  }
  return [...found].flatMap(([name, points]): Curve[] => {
    const [first, ...more] = [...points.values()].toSorted((a, b) => a.size - b.size);
    if (first === undefined) return [];
    return [{ name, unit: first.unit, of: first.of, points: [first, ...more] }];
  });
}

/** Ours by the baseline: below 1 is better than it. */
export function ratioOf({ ours, baseline }: Figure): number {
  return ours.middle / baseline.middle;
}

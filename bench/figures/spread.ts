import type { Measured } from "./figure.ts";

/** Middle, least and most of the samples of one subject. */
export function spreadOf(subject: string, samples: readonly number[]): Measured {
  const sorted = samples.toSorted((a, b) => a - b);
  const [first] = sorted;
  if (first === undefined) throw new RangeError(`no samples of ${subject}`);
  return {
    subject,
    middle: sorted[sorted.length >> 1] ?? first,
    least: first,
    most: sorted.at(-1) ?? first,
  };
}

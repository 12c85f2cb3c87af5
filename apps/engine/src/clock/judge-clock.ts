import { type ClockStanding, SKEW_ERROR_MS } from "./server-clock.ts";

/** Between which bounds a clock is, on a scale that all have in common, in milliseconds. */
export interface ClockBounds {
  readonly leastMs: number;
  readonly mostMs: number;
}

/**
 * What a server knows of its clock by those of others. More than half of all servers that agree are right, and a server that disagrees
 * with half of them is not. Where there is no such majority, as of two that disagree, nothing tells who is right: then only those react that are
 * ahead of none, so that what is due happens at the later of all times, and nothing too early. A server that is alone is believed.
 */
export function judgeClock(ownMs: number, others: readonly ClockBounds[]): ClockStanding {
  if (others.length === 0) return { skewMs: undefined, isDisputed: false, mayReact: true };
  const own = { leastMs: ownMs, mostMs: ownMs };
  const all = [own, ...others];
  const agreeing = (one: ClockBounds): readonly ClockBounds[] =>
    all.filter((other) => Math.abs(leastDifference(one, other)) < SKEW_ERROR_MS);
  const isMajority = (one: ClockBounds): boolean => agreeing(one).length * 2 > all.length;
  const isRight = isMajority(own);
  if (isRight || others.some(isMajority)) {
    const [largest = []] = all.map(agreeing).toSorted((a, b) => b.length - a.length);
    const skewMs = leastDifference(own, middle(largest.filter((one) => one !== own)) ?? own);
    return { skewMs, isDisputed: false, mayReact: isRight };
  }
  const differences = others.map((other) => leastDifference(own, other));
  const [furthest] = differences.toSorted((a, b) => Math.abs(b) - Math.abs(a));
  const mayReact = differences.every((ms) => ms < SKEW_ERROR_MS);
  return { skewMs: furthest, isDisputed: true, mayReact };
}

/** By how much one is ahead of another, at the least; negative: behind. */
function leastDifference(one: ClockBounds, other: ClockBounds): number {
  return Math.max(0, one.leastMs - other.mostMs) - Math.max(0, other.leastMs - one.mostMs);
}

function middle(of: readonly ClockBounds[]): ClockBounds | undefined {
  const sorted = of.toSorted((a, b) => a.leastMs + a.mostMs - b.leastMs - b.mostMs);
  return sorted[Math.floor((sorted.length - 1) / 2)];
}

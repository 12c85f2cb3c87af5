import type { Operations } from "@stackwright/client";

export type DriftRule = NonNullable<Operations["ShowProject"]["output"]["drift"]>;
export type Reaction = NonNullable<DriftRule["reaction"]>;

export const REACTIONS: Readonly<Record<Reaction, string>> = {
  report: "only report it",
  plan: "plan to restore, and wait for approval",
  repair: "restore without an approval",
  accept: "record it without an approval",
};

/** `6 hours` */
export function spanText(minutes: number): string {
  for (const [unit, size] of [
    ["day", 1_440],
    ["hour", 60],
  ] as const) {
    if (minutes % size !== 0) continue;
    const count = minutes / size;
    return count === 1 ? unit : `${count} ${unit}s`;
  }
  return `${minutes} minutes`;
}

import type { Value } from "@stackwright/cty";
import { diffValues, type PairingOptions } from "../diff/diff-values.ts";
import { type ShowOptions, showDiff, showValue } from "../diff/show-diff.ts";
import type { Diff } from "../model/diff.ts";

/** The difference of two sides, of which either may be absent. */
export function sides(
  before: Value | undefined,
  after: Value | undefined,
  diff: PairingOptions,
  show: ShowOptions,
): Diff {
  if (before === undefined && after === undefined) return { kind: "same", value: { kind: "null" } };
  if (before === undefined) {
    return { kind: "add", value: showValue(after as Value, show) };
  }
  if (after === undefined) return { kind: "remove", value: showValue(before, show) };
  return showDiff(diffValues(before, after, diff), show);
}

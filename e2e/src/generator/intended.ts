import { readFileSync } from "node:fs";
import type { Deviation } from "../differential/compare.ts";

/** A difference of generated cases that is meant. */
interface IntendedDifference {
  /** Matches the field. */
  readonly field: RegExp;
  /** Matches the message. */
  readonly message: RegExp;
  readonly reason: string;
}

/** The entries of a list of intended differences that are about generated cases: those with the case `generated`. */
export function readIntended(path: URL | string): readonly IntendedDifference[] {
  const entries = JSON.parse(readFileSync(path, "utf8")) as readonly {
    readonly case: string;
    readonly field: string;
    readonly message?: string;
    readonly reason: string;
  }[];
  return entries
    .filter((entry) => entry.case === "generated")
    .map(({ field, message = "", reason }) => ({
      field: new RegExp(field),
      message: new RegExp(message),
      reason,
    }));
}

/** The deviations that no entry explains. */
export function unexplained(
  deviations: readonly Deviation[],
  intended: readonly IntendedDifference[],
): readonly Deviation[] {
  return deviations.filter(
    (one) =>
      !intended.some(({ field, message }) => field.test(one.field) && message.test(one.message)),
  );
}

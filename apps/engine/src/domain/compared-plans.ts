/** What a comparison of the plan of a tool with that of the engine found, bounded. */
export interface ComparedPlans {
  /** Objects and outputs that were compared. */
  readonly compared: number;
  /** All differences, also those that are not listed. */
  readonly differing: number;
  readonly differences: readonly ListedDifference[];
}

/** One difference: values are JSON, cut, and none that is sensitive. */
interface ListedDifference {
  readonly address: string;
  readonly path: string;
  /** Absent where the engine plans nothing there. */
  readonly ours?: string;
  /** Absent where the tool plans nothing there. */
  readonly theirs?: string;
}

/** Differences that are listed. */
export const MAX_LISTED = 100;
/** Characters of an address or a path, and of a value. */
export const MAX_PLACE = 512;
export const MAX_SHOWN = 256;

/** Blocks that a run remembers of those that its plan leaves to the next stage. */
export const MAX_LEFT = 1_000;

/** Characters of the address of such a block. */
export const MAX_LEFT_TEXT = 1_024;

/** What the plan of a stage leaves to the next one. */
export interface LeftToStage {
  /** Addresses without keys; at most {@link MAX_LEFT}. */
  readonly parts: readonly string[];
  /** Requested replacements that the plan does not have. */
  readonly replace: readonly string[];
}

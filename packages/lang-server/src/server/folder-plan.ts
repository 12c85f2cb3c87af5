import type { PlannedChange } from "../features/planned-hints.ts";

/** What a plan of a folder would do. */
export interface FolderPlan {
  readonly changes: readonly PlannedChange[];
  /**
   * Resolves once the state is not the one that the plan was made of, as after an apply elsewhere. Called once for a plan; the signal aborts
   * when nothing of the plan is shown any more. A rejection is logged, and the plan stays. @default nothing says so
   */
  readonly outdated?: (signal: AbortSignal) => Promise<void>;
}

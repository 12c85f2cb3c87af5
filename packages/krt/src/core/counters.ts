/** Counters of one node. Plain numbers, always kept. */
export interface NodeCounters {
  /** Completed runs of the transformation. */
  runs: number;
  /** Runs given up because a dependency was not final or not synced. */
  abandoned: number;
  /** Completed runs that changed nothing. */
  unchanged: number;
  /** Runs that threw. */
  failed: number;
  /** Runs that asked to be discarded. */
  discarded: number;
  /** Committed changes. */
  events: number;
  /** Turns in which the node was processed. */
  turns: number;
  /** Milliseconds spent in processing. Kept only when timing is on. */
  timeMs: number;
}

export function createCounters(): NodeCounters {
  return {
    runs: 0,
    abandoned: 0,
    unchanged: 0,
    failed: 0,
    discarded: 0,
    events: 0,
    turns: 0,
    timeMs: 0,
  };
}

import type { Moment } from "./history.ts";

/** Gives out moments. */
export interface Timeline {
  /** The next moment: later than every one before. */
  now(): Moment;
}

/** A timeline of one recorder. */
export function createTimeline(): Timeline {
  let last = 0;
  return {
    now: () => {
      last += 1;
      return last;
    },
  };
}

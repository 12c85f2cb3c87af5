import type { ManualClock } from "@stackwright/base/testing";

/** Lets a clock run until something is done that waits by it. */
export async function settleByClock<T>(
  clock: Pick<ManualClock, "advance">,
  work: Promise<T>,
): Promise<T> {
  const state = { isDone: false };
  const done = work.finally(() => {
    state.isDone = true;
  });
  done.catch(() => undefined);
  while (!state.isDone) await clock.advance(50);
  return done;
}

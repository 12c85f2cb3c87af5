/** Lets tasks run one after the other. */
export interface Turns {
  take<T>(task: () => Promise<T>): Promise<T>;
}

/** A queue of tasks, each of which starts when the one before has settled. */
export function createTurns(): Turns {
  let last: Promise<unknown> = Promise.resolve();
  return {
    take: (task) => {
      const turn = last.then(task);
      last = turn.catch(() => undefined);
      return turn;
    },
  };
}

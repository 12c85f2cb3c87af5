import type { Clock } from "@stackwright/base/clock";
import { type Chance, createChance } from "@stackwright/core/testing";
import type { StorageBackend } from "@stackwright/storage";

/**
 * The order in which the reads, writes and pauses of several writers happen, drawn from a seed: one at a time, and between a read or
 * write and its answer others may be next. Time does not pass.
 */
export class DrawnOrder {
  readonly chance: Chance;
  #waiting: (() => void)[] = [];

  constructor(seed: number) {
    this.chance = createChance(seed);
  }

  /** The store as one writer has it; `written` hears of its batches in the order in which they are done. */
  storageOf<S extends StorageBackend>(inner: S, written: () => void): S {
    return new Proxy(inner, {
      get: (target, key) => {
        const member: unknown = Reflect.get(target, key, target);
        if (typeof member !== "function") return member;
        if (key !== "read" && key !== "batch") return member.bind(target);
        return async (...args: unknown[]): Promise<unknown> => {
          await this.#turn();
          try {
            const answer: unknown = await Reflect.apply(member, target, args);
            if (key === "batch") written();
            return answer;
          } finally {
            await this.#turn();
          }
        };
      },
    });
  }

  /** A clock that stands still and whose pauses are over when it is their turn. */
  clockOf(inner: Clock): Clock {
    return {
      monotonicMs: () => inner.monotonicMs(),
      wallMs: () => inner.wallMs(),
      after: (_delayMs, run) => {
        this.#waiting.push(run);
        return {
          [Symbol.dispose]: () => {
            this.#waiting = this.#waiting.filter((one) => one !== run);
          },
        };
      },
    };
  }

  /** Lets writers race until all of them have ended. */
  async race<T>(writers: readonly (() => Promise<T>)[]): Promise<T[]> {
    const progress = { isOver: false };
    const all = Promise.all(
      writers.map(async (write) => {
        await this.#turn();
        return write();
      }),
    ).finally(() => {
      progress.isOver = true;
    });
    // The answer of the one that failed first is that of all.
    all.catch(() => undefined);
    while (!progress.isOver) {
      await settled();
      const [next] = this.#waiting.splice(this.chance.below(this.#waiting.length), 1);
      next?.();
    }
    return all;
  }

  /** Leaves so many turns to others, of those that are drawn for this writer. */
  async pass(turns: number): Promise<void> {
    for (let passed = 0; passed < turns; passed += 1) await this.#turn();
  }

  async #turn(): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
    });
  }
}

/** Promises settle in microtasks; one turn of the event loop runs all of them. */
async function settled(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}

import type { Clock } from "@stackwright/base/clock";

/** Whether a server answers the requests of a worker: what an answer says does not matter. */
export class ServerContact {
  readonly #clock: Clock;
  #lostMs: number | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** For how long requests have failed without one that was answered, in ms; 0 where the last one was. */
  lostForMs(): number {
    return this.#lostMs === undefined ? 0 : this.#clock.monotonicMs() - this.#lostMs;
  }

  /** The same function, watched. A request that its caller aborts says nothing. */
  watch(send: typeof fetch): typeof fetch {
    return async (input, init) => {
      try {
        const answer = await send(input, init);
        this.#lostMs = undefined;
        return answer;
      } catch (error) {
        if (init?.signal?.aborted !== true) this.#lostMs ??= this.#clock.monotonicMs();
        throw error;
      }
    };
  }
}

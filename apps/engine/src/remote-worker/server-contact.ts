import type { Clock } from "@stackwright/base/clock";
import { isClientError } from "@stackwright/client";

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

  /** The same function, watched. A request that its caller aborts says nothing, unless nothing came in time. */
  watch(send: typeof fetch): typeof fetch {
    return async (input, init) => {
      try {
        const answer = await send(input, init);
        this.#lostMs = undefined;
        return answer;
      } catch (error) {
        const { aborted = false, reason } = init?.signal ?? {};
        const isLate = isClientError(reason, "CLIENT_TIMEOUT");
        if (!aborted || isLate) this.#lostMs ??= this.#clock.monotonicMs();
        throw error;
      }
    };
  }
}

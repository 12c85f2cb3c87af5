import { FgBridgeError } from "../errors.ts";

export interface FunctionCallLimits {
  /** Calls at a time to one function. @default 64 */
  readonly perFunction?: number;
  /** Calls at a time of one session to one function. @default 16 */
  readonly perSession?: number;
  /** Calls that may wait; one more is refused. @default 1000 */
  readonly queued?: number;
}

interface Waiter {
  readonly session: string;
  readonly resolve: () => void;
}

/**
 * Limits the calls to one function, in all and per session. Those that wait go in order, except that a session at its
 * own limit does not hold up others.
 */
export class CallLimiter {
  readonly #limits: Required<FunctionCallLimits>;
  readonly #perSession = new Map<string, number>();
  #waiting: Waiter[] = [];
  #running = 0;

  constructor(limits: FunctionCallLimits = {}) {
    this.#limits = {
      perFunction: limits.perFunction ?? 64,
      perSession: limits.perSession ?? 16,
      queued: limits.queued ?? 1000,
    };
  }

  get running(): number {
    return this.#running;
  }

  /**
   * Runs the call when it may run. Rejects with the reason of the signal while it waits, and with
   * `FG_LIMIT_EXCEEDED` when too many wait.
   */
  async run<T>(
    session: string,
    signal: AbortSignal | undefined,
    call: () => Promise<T>,
  ): Promise<T> {
    await this.#enter(session, signal);
    try {
      return await call();
    } finally {
      this.#leave(session);
    }
  }

  #fits(session: string): boolean {
    const { perFunction, perSession } = this.#limits;
    return this.#running < perFunction && (this.#perSession.get(session) ?? 0) < perSession;
  }

  #take(session: string): void {
    this.#running++;
    this.#perSession.set(session, (this.#perSession.get(session) ?? 0) + 1);
  }

  #enter(session: string, signal: AbortSignal | undefined): Promise<void> {
    signal?.throwIfAborted();
    if (this.#fits(session)) {
      this.#take(session);
      return Promise.resolve();
    }
    if (this.#waiting.length >= this.#limits.queued) {
      const text = `${this.#waiting.length} calls wait for this function already`;
      return Promise.reject(new FgBridgeError("FG_LIMIT_EXCEEDED", text));
    }
    return new Promise((resolve, reject) => {
      const waiter: Waiter = {
        session,
        resolve: () => {
          signal?.removeEventListener("abort", abort);
          resolve();
        },
      };
      const abort = () => {
        this.#waiting = this.#waiting.filter((other) => other !== waiter);
        reject(signal?.reason as Error);
      };
      signal?.addEventListener("abort", abort, { once: true });
      this.#waiting.push(waiter);
    });
  }

  #leave(session: string): void {
    this.#running--;
    const left = (this.#perSession.get(session) ?? 1) - 1;
    if (left === 0) this.#perSession.delete(session);
    else this.#perSession.set(session, left);
    for (;;) {
      const next = this.#waiting.findIndex((waiter) => this.#fits(waiter.session));
      const [waiter] = next === -1 ? [] : this.#waiting.splice(next, 1);
      if (waiter === undefined) return;
      this.#take(waiter.session);
      waiter.resolve();
    }
  }
}

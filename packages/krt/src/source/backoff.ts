import type { Scheduler } from "../scheduler.ts";

/** How long to wait after failures: doubling, with a random part so that many clients spread out. */
export interface BackoffOptions {
  /** @default 200 */
  readonly initialMs?: number;
  /** @default 30000 */
  readonly maxMs?: number;
}

/** How many first waits a watch lasts that counts as a working one. */
const STEADY_WAITS = 5;

/** Waits that grow with each failure in a row. */
export class Backoff {
  readonly #scheduler: Scheduler;
  readonly #initialMs: number;
  readonly #maxMs: number;
  #failures = 0;

  constructor(scheduler: Scheduler, { initialMs = 200, maxMs = 30_000 }: BackoffOptions = {}) {
    this.#scheduler = scheduler;
    this.#initialMs = initialMs;
    this.#maxMs = maxMs;
  }

  reset(): void {
    this.#failures = 0;
  }

  now(): number {
    return this.#scheduler.now();
  }

  /** Forgets former failures if something that began at `since` lasted long enough to be a success. */
  resetIfSteady(since: number): void {
    if (this.now() - since >= this.#initialMs * STEADY_WAITS) this.reset();
  }

  /** Waits between half and the whole of the present length; returns early when `signal` aborts. */
  async wait(signal: AbortSignal): Promise<void> {
    const length = Math.min(this.#maxMs, this.#initialMs * 2 ** this.#failures++);
    const ms = (length * (1 + this.#scheduler.random())) / 2;
    if (signal.aborted) return;
    await new Promise<void>((resolve) => {
      const done = () => {
        signal.removeEventListener("abort", done);
        cancel();
        resolve();
      };
      const cancel = this.#scheduler.delay(ms, done);
      signal.addEventListener("abort", done, { once: true });
    });
  }
}

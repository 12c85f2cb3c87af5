import type { Clock } from "@stackwright/base/clock";
import type { ResourceProvider } from "../resource-provider.ts";

/** When a provider that runs and does not answer counts as dead. */
export interface LivenessPolicy {
  /** Pause between two questions. @default 10_000 */
  readonly intervalMs?: number;
  /** Time for an answer. @default 10_000 */
  readonly timeoutMs?: number;
  /** Questions in a row that stay without an answer. @default 3 */
  readonly failures?: number;
}

/**
 * Asks a provider again and again for its version, which it can answer without doing anything. Any answer will do, an
 * error too. Ends with the first time that `failures` questions in a row stay without one.
 */
export class LivenessProbe implements Disposable {
  readonly #provider: ResourceProvider;
  readonly #clock: Clock;
  readonly #policy: Required<LivenessPolicy>;
  readonly #onDead: () => void;
  readonly #over = new AbortController();
  #timer: Disposable | undefined;
  #missed = 0;

  constructor(
    provider: ResourceProvider,
    options: {
      readonly clock: Clock;
      readonly policy: LivenessPolicy;
      readonly onDead: () => void;
    },
  ) {
    const { intervalMs = 10_000, timeoutMs = 10_000, failures = 3 } = options.policy;
    this.#provider = provider;
    this.#clock = options.clock;
    this.#policy = { intervalMs, timeoutMs, failures };
    this.#onDead = options.onDead;
    this.#askLater();
  }

  [Symbol.dispose](): void {
    this.#over.abort();
    this.#timer?.[Symbol.dispose]();
  }

  #askLater(): void {
    this.#timer = this.#clock.after(this.#policy.intervalMs, () => {
      // Never rejects.
      void this.#ask();
    });
  }

  async #ask(): Promise<void> {
    const late = new AbortController();
    const timer = this.#clock.after(this.#policy.timeoutMs, () => late.abort());
    const signal = AbortSignal.any([late.signal, this.#over.signal]);
    await this.#provider.getPluginInfo({}, { signal }).catch(() => undefined);
    timer[Symbol.dispose]();
    if (this.#over.signal.aborted) return;
    this.#missed = late.signal.aborted ? this.#missed + 1 : 0;
    if (this.#missed < this.#policy.failures) this.#askLater();
    else this.#onDead();
  }
}

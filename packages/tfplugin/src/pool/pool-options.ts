import { type Clock, systemClock } from "@stackwright/base/clock";
import { type Logger, silentLogger } from "@stackwright/base/logger";
import type { LifecycleProvider } from "@stackwright/mux/router";
import { TfpluginError } from "../errors.ts";

/** A provider that was started, and configured where its key says so. */
export interface PoolMember {
  readonly provider: LifecycleProvider;
  /** Settles when it has ended, for any reason; never rejects. */
  readonly exited: Promise<unknown>;
  /** Rejects where it is not well. */
  checkHealth(signal: AbortSignal): Promise<void>;
  /** Ends it. Idempotent. */
  close(): Promise<void>;
}

export interface ProviderPoolOptions {
  /** Most providers at a time, starting and ending ones included. @default 64 */
  readonly maxProviders?: number;
  /** How long a provider waits for the next who wants it, in milliseconds. @default 60_000 */
  readonly idleMs?: number;
  /** Most requests that wait because the pool is full. @default 1_024 */
  readonly maxWaiting?: number;
  /** How long a request waits because the pool is full, in milliseconds. @default 60_000 */
  readonly waitMs?: number;
  /** For the answer to a health check before a provider is used again, in milliseconds. @default 2_000 */
  readonly healthTimeoutMs?: number;
  /** @default drops everything */
  readonly logger?: Logger;
  /** @default the clock of the process */
  readonly clock?: Clock;
}

export type ResolvedPoolOptions = Required<ProviderPoolOptions>;

/** Fills in what is left out. `TFPLUGIN_OPTIONS_INVALID` for numbers that are none. */
export function resolvePoolOptions(options: ProviderPoolOptions): ResolvedPoolOptions {
  const numbers = {
    maxProviders: options.maxProviders ?? 64,
    idleMs: options.idleMs ?? 60_000,
    maxWaiting: options.maxWaiting ?? 1024,
    waitMs: options.waitMs ?? 60_000,
    healthTimeoutMs: options.healthTimeoutMs ?? 2000,
  };
  for (const [name, value] of Object.entries(numbers)) {
    const least = name === "maxProviders" ? 1 : 0;
    if (!(value >= least)) {
      const text = `${name} must be ${least} or more and is ${value}`;
      throw new TfpluginError("TFPLUGIN_OPTIONS_INVALID", text);
    }
  }
  return {
    ...numbers,
    logger: options.logger ?? silentLogger,
    clock: options.clock ?? systemClock,
  };
}

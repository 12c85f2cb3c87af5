import { type Clock, systemClock } from "@stackwright/base/clock";
import { type Logger, silentLogger } from "@stackwright/base/logger";
import { FEATURES, type Feature } from "../envelope/extensions.ts";
import type { FunctionCallTimeouts } from "../target/http-exchange.ts";
import type { FunctionCallLimits } from "./call-limiter.ts";
import type { BreakerOptions } from "./circuit-breaker.ts";
import type { RetryBudgetOptions } from "./retry-budget.ts";

export interface CallerOptions {
  /**
   * `v1`: every call is synchronous (the seed). `v2`: plan, apply, stop and shutdown are asynchronous invocations
   * whose results are polled, where the target has them.
   *
   * @default "v1"
   */
  readonly contract?: "v1" | "v2";
  /** @default 3 s to connect, 30 s to the first byte, 30 s in all */
  readonly timeouts?: Partial<FunctionCallTimeouts>;
  /** Of an asynchronous invocation, in all. @default 3 600 000 */
  readonly asyncTimeoutMs?: number;
  /**
   * Which methods get `config_data` once the provider was configured. `needed`: those that work on real objects.
   * `all`: every method but Configure, Stop and Shutdown.
   *
   * @default "needed"
   */
  readonly configData?: "needed" | "all";
  /** Extensions that functions may use in answers. @default all */
  readonly accept?: readonly Feature[];
  /**
   * Sends the members of the contract alone, for functions that refuse unknown members. Then no extension works, and no
   * repeated apply is recognized.
   *
   * @default false
   */
  readonly strict?: boolean;
  readonly limits?: FunctionCallLimits;
  readonly retry?: RetryBudgetOptions;
  readonly breaker?: BreakerOptions;
  /** Of a response after decompression. @default 64 MiB */
  readonly maxPayloadBytes?: number;
  /** How long the function's journal is asked what became of an apply. @default 60 000 */
  readonly resolveTimeoutMs?: number;
  /** @default drops everything; payloads are never logged */
  readonly logger?: Logger;
  readonly clock?: Clock;
  /** From 0 to 1. @default Math.random */
  readonly random?: () => number;
}

export interface ResolvedCallerOptions {
  readonly contract: "v1" | "v2";
  readonly timeouts: FunctionCallTimeouts;
  readonly asyncTimeoutMs: number;
  readonly configData: "needed" | "all";
  readonly accept: readonly Feature[];
  readonly strict: boolean;
  readonly limits: FunctionCallLimits;
  readonly retry: RetryBudgetOptions;
  readonly breaker: BreakerOptions;
  readonly maxPayloadBytes: number;
  readonly resolveTimeoutMs: number;
  readonly logger: Logger;
  readonly clock: Clock;
  readonly random: () => number;
}

export function resolveCallerOptions(options: CallerOptions): ResolvedCallerOptions {
  const { totalMs = 30_000 } = options.timeouts ?? {};
  return {
    contract: options.contract ?? "v1",
    timeouts: { connectMs: 3000, firstByteMs: totalMs, ...options.timeouts, totalMs },
    asyncTimeoutMs: options.asyncTimeoutMs ?? 3_600_000,
    configData: options.configData ?? "needed",
    accept: options.strict === true ? [] : (options.accept ?? FEATURES),
    strict: options.strict ?? false,
    limits: options.limits ?? {},
    retry: options.retry ?? {},
    breaker: options.breaker ?? {},
    maxPayloadBytes: options.maxPayloadBytes ?? 64 * 1024 * 1024,
    resolveTimeoutMs: options.resolveTimeoutMs ?? 60_000,
    logger: options.logger ?? silentLogger,
    clock: options.clock ?? systemClock,
    random: options.random ?? Math.random,
  };
}

import { type Clock, systemClock } from "@stackwright/base/clock";
import { type Logger, silentLogger } from "@stackwright/base/logger";
import type { AuditSink } from "../audit.ts";
import type { AdapterInfo, Feature } from "../envelope/extensions.ts";
import { ENVELOPE_LIMITS, type EnvelopeLimits } from "../envelope/request.ts";
import { FgBridgeError } from "../errors.ts";
import type { OperationJournal } from "./operation-journal.ts";
import type { ProviderRunner } from "./provider-runner.ts";
import type { ResultStore } from "./result-store.ts";
import type { PoolOptions } from "./session-pool.ts";

export interface FunctionOptions {
  /** Starts the provider. */
  readonly runner: ProviderRunner;
  /** Longest time of one request, in milliseconds; the caller's own wish and the platform's limit shorten it. @default 30_000 */
  readonly timeoutMs?: number;
  /** What is left of the caller's time when the provider is stopped, for an answer in time. @default 1000 */
  readonly marginMs?: number;
  /** Provider processes at a time. @default 16 */
  readonly maxProcesses?: number;
  /** Requests that may wait for a process; further ones get 429. @default 64 */
  readonly maxWaiting?: number;
  readonly limits?: Partial<EnvelopeLimits>;
  /** Of the body of an answer. @default 6 MiB */
  readonly maxResponseBytes?: number;
  /** Recognizes repeated deliveries of an apply. The function closes it. @default none */
  readonly journal?: OperationJournal;
  /**
   * Keeps a configured process per session. Sessions are named by callers, so a pool belongs to functions that know their
   * callers (`authenticate`), or whose callers may share processes (`sharedCallers`).
   *
   * @default none: one process per request
   */
  readonly pool?: PoolOptions & { readonly sharedCallers?: boolean };
  /** Takes responses that are too large. @default none */
  readonly results?: ResultStore;
  /** @default true */
  readonly gzip?: boolean;
  /** Whether requests come with the name of who sent them. */
  readonly authenticated?: boolean;
  readonly onAudit?: AuditSink;
  readonly logger?: Logger;
  readonly clock?: Clock;
}

export interface ResolvedFunctionOptions {
  readonly runner: ProviderRunner;
  readonly timeoutMs: number;
  readonly marginMs: number;
  readonly maxProcesses: number;
  readonly maxWaiting: number;
  readonly limits: EnvelopeLimits;
  readonly maxResponseBytes: number;
  readonly journal: OperationJournal | undefined;
  readonly pool: PoolOptions | undefined;
  readonly results: ResultStore | undefined;
  readonly gzip: boolean;
  readonly adapter: AdapterInfo;
  readonly onAudit: AuditSink;
  readonly logger: Logger;
  readonly clock: Clock;
}

/** Version of the function side, as it introduces itself. */
const VERSION = "0.1.0";

/** @throws FgBridgeError `FG_OPTIONS_INVALID` */
export function resolveFunctionOptions(options: FunctionOptions): ResolvedFunctionOptions {
  const { pool, journal, results, gzip = true } = options;
  if (pool !== undefined && options.authenticated !== true && pool.sharedCallers !== true) {
    const text = "a pool needs callers that are known, or that may share processes (sharedCallers)";
    throw new FgBridgeError("FG_OPTIONS_INVALID", text);
  }
  const features: Feature[] = ["schema-digest", "progress"];
  if (gzip) features.push("gzip");
  if (results !== undefined) features.push("ref");
  if (pool !== undefined) features.push("pool");
  // What does not outlive an instance protects against repetition, but proves nothing.
  if (journal?.durable === true) features.push("journal");
  return {
    runner: options.runner,
    timeoutMs: options.timeoutMs ?? 30_000,
    marginMs: options.marginMs ?? 1000,
    maxProcesses: options.maxProcesses ?? 16,
    maxWaiting: options.maxWaiting ?? 64,
    limits: { ...ENVELOPE_LIMITS, ...options.limits },
    maxResponseBytes: options.maxResponseBytes ?? ENVELOPE_LIMITS.maxBytes,
    journal,
    pool,
    results,
    gzip,
    adapter: { name: "stackwright", version: VERSION, features },
    onAudit: options.onAudit ?? (() => undefined),
    logger: options.logger ?? silentLogger,
    clock: options.clock ?? systemClock,
  };
}

import { type Clock, systemClock } from "@stackwright/base/clock";
import { StorageError } from "../errors.ts";
import {
  type HistoryOptions,
  type ResolvedHistory,
  resolveHistory,
} from "../feed/history-options.ts";
import {
  type ResolvedWatchBuffer,
  resolveWatchBuffer,
  type WatchBufferOptions,
} from "../feed/watch-stream.ts";

/** Options of {@link createWatchCache}. */
export interface WatchCacheOptions {
  /** Most bytes of the resources of one type; a type with more is not cached. @default 32 MiB */
  readonly typeBytes?: number | undefined;
  /** Most bytes of the resources of all types together. @default 128 MiB */
  readonly totalBytes?: number | undefined;
  /** A resource that takes more stays in the engine, and with it what reads it. @default 64 KiB */
  readonly resourceBytes?: number | undefined;
  /** Commits of each type that are kept for watches that resume. @default 1,024 events of 4 MiB */
  readonly history?: HistoryOptions | undefined;
  /** How much a watch holds back for a slow consumer. */
  readonly watchBuffer?: WatchBufferOptions | undefined;
  /** A type that nothing watches or reads for so long is dropped, in milliseconds. @default 5 minutes */
  readonly idleMs?: number | undefined;
  /** How long a type that was too large is not tried again, in milliseconds. @default 10 minutes */
  readonly retryMs?: number | undefined;
  /** How long a call waits for the cache before the engine answers it, in milliseconds. @default 10 seconds */
  readonly waitMs?: number | undefined;
  /** @default the clock of the process */
  readonly clock?: Clock | undefined;
}

/** {@link WatchCacheOptions} with the defaults filled in. */
export interface ResolvedCacheOptions {
  readonly typeBytes: number;
  readonly totalBytes: number;
  readonly resourceBytes: number;
  readonly history: ResolvedHistory;
  readonly watchBuffer: ResolvedWatchBuffer;
  readonly idleMs: number;
  readonly retryMs: number;
  readonly waitMs: number;
  readonly clock: Clock;
}

const MIB = 1024 * 1024;

/** Fills in the defaults of {@link WatchCacheOptions}; `STORAGE_INVALID_ARGUMENT` for a bound that is none. */
export function resolveCacheOptions(options: WatchCacheOptions = {}): ResolvedCacheOptions {
  const bound = (name: keyof WatchCacheOptions, value: number): number => {
    if (Number.isFinite(value) && value >= 0) return value;
    throw new StorageError("STORAGE_INVALID_ARGUMENT", `${name} is ${value}, not 0 or more`, {
      details: { field: name },
    });
  };
  return {
    typeBytes: bound("typeBytes", options.typeBytes ?? 32 * MIB),
    totalBytes: bound("totalBytes", options.totalBytes ?? 128 * MIB),
    resourceBytes: bound("resourceBytes", options.resourceBytes ?? 64 * 1024),
    history: resolveHistory({ bytes: 4 * MIB, ...options.history }, 1_024),
    watchBuffer: resolveWatchBuffer(options.watchBuffer),
    idleMs: bound("idleMs", options.idleMs ?? 300_000),
    retryMs: bound("retryMs", options.retryMs ?? 600_000),
    waitMs: bound("waitMs", options.waitMs ?? 10_000),
    clock: options.clock ?? systemClock,
  };
}

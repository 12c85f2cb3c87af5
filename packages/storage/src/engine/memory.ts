import type { Clock } from "@stackwright/base/clock";
import {
  DEFAULT_LIMITS,
  MAX_BATCH_OPERATIONS,
  MAX_GUARDS,
  type StorageCapabilities,
} from "../capabilities.ts";
import type { HistoryOptions } from "../feed/history-options.ts";
import type { WatchBufferOptions } from "../feed/watch-stream.ts";
import type { StorageBackend } from "../types.ts";
import { EngineBackend } from "./engine-backend.ts";
import { MemoryEngine } from "./memory/memory-engine.ts";

/** Options of {@link createMemoryStorage}. */
export interface MemoryStorageOptions {
  /** How much a watch holds back for a slow consumer. */
  readonly watchBuffer?: WatchBufferOptions;
  /** How much history is kept for watches that resume. @default 4,096 commits, 64 MiB of data */
  readonly history?: HistoryOptions;
  /** Measures the age of the history. @default the clock of the process */
  readonly clock?: Pick<Clock, "monotonicMs">;
  /** Names this store in cursors; a new one is made up unless a simulation needs a fixed one. */
  readonly epoch?: string;
}

/** What the memory engine offers. */
export const MEMORY_CAPABILITIES: StorageCapabilities = Object.freeze({
  engine: "memory",
  durability: "none",
  shared: false,
  strongList: true,
  pagedList: true,
  guards: MAX_GUARDS,
  batch: MAX_BATCH_OPERATIONS,
  endOfSnapshot: true,
  resume: true,
  snapshot: true,
  restore: true,
  limits: DEFAULT_LIMITS,
});

/**
 * A store in the memory of this process: the reference engine, with which all others are compared.
 * Everything is linearizable, `eventual` reads too.
 */
export function createMemoryStorage(options: MemoryStorageOptions = {}): StorageBackend {
  return new EngineBackend(new MemoryEngine({ ...options, capabilities: MEMORY_CAPABILITIES }));
}

import type { Collection, CollectionOptions } from "../collection.ts";
import type { KrtError } from "../errors.ts";
import type { Instrumentation, RuntimeWarning } from "../instrumentation.ts";
import type { Scheduler } from "../scheduler.ts";
import type { Scope } from "../scope.ts";
import type { Group } from "../secondary-index.ts";
import type { IndexStore } from "./index-store.ts";
import type { Owner } from "./scope.ts";
import type { StrictMode } from "./strict.ts";

/** Options of a runtime with nothing left open. */
export interface GraphOptions {
  readonly scheduler: Scheduler;
  readonly onError: (error: KrtError) => void;
  readonly onWarning: ((diagnostic: RuntimeWarning) => void) | undefined;
  readonly instrumentation: Instrumentation | undefined;
  readonly sliceMs: number;
  readonly maxTurnMs: number;
  /** Whether the turn of a write is made at the end of the task, or when something is read. */
  readonly lazy: boolean;
  readonly highWater: number;
  readonly timing: boolean;
  readonly explain: boolean;
  readonly strict: StrictMode | undefined;
}

/** What nodes have made for them without knowing the classes that make it. */
export interface Factories {
  group<K, T>(
    owner: Owner,
    index: IndexStore<K, T>,
    options: CollectionOptions,
  ): Collection<Group<K, T>>;
  scope(owner: Owner): Scope;
}

import type { StorageCapabilities } from "../capabilities.ts";
import type { HistoryOptions } from "../feed/history-options.ts";
import type { WatchBufferOptions } from "../feed/watch-stream.ts";
import type { StorageBackend } from "../types.ts";

/** Options with which a scenario opens an instance; an engine without the option ignores it. */
export interface OpenOptions {
  readonly watchBuffer?: WatchBufferOptions;
  readonly history?: HistoryOptions;
}

/** One empty store of the engine under test, and instances over it. */
export interface StorageHarness extends AsyncDisposable {
  /**
   * Opens an instance. While another one is open this is only called if `capabilities.shared`;
   * after it was closed only if `capabilities.durability` is not `none`.
   */
  open(options?: OpenOptions): Promise<StorageBackend>;
  /**
   * Discards the history retained so far. Needed for engines with `capabilities.resume` that do not
   * go by `OpenOptions.history`.
   */
  compact?(storage: StorageBackend): Promise<void>;
}

/** Makes an empty store; called once per scenario. Disposing it removes the store. */
export type CreateHarness = () => Promise<StorageHarness>;

/** What a scenario works with. */
export interface ScenarioContext {
  /** The first instance over an empty store. */
  readonly storage: StorageBackend;
  readonly harness: StorageHarness;
  readonly capabilities: StorageCapabilities;
  /** Multiplies loops and loads: 1 in unit tests, more in the soak. */
  readonly factor: number;
}

/** One case of the conformance suite. Assertions are those of `node:assert`. */
export interface Scenario {
  /** A sentence in the present tense. */
  readonly title: string;
  /** Whether the case applies to an engine; by capability, never by name. @default always */
  readonly applies?: (capabilities: StorageCapabilities) => boolean;
  /** Options of the first instance. */
  readonly open?: OpenOptions;
  readonly run: (context: ScenarioContext) => Promise<void>;
}

/** Scenarios on one part of the contract. */
export interface ScenarioGroup {
  readonly title: string;
  readonly scenarios: readonly Scenario[];
}

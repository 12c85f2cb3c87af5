import type { StorageErrorDetails } from "../errors.ts";
import type { RenewalTask } from "./renewal.ts";

/** A module and an exported function of it that opens a store; for a thread, which needs its own. */
export interface StorageModuleReference {
  /** URL or package path, as `import()` takes it. */
  readonly module: string;
  /** Name of the exported function. */
  readonly factory: string;
  /** Its argument; has to survive a structured clone. */
  readonly options: unknown;
}

/** What the thread starts with. */
export interface ThreadData {
  readonly source: StorageModuleReference;
  /** One 64-bit integer: microseconds of the monotonic clock when the other side last ran. */
  readonly alive: SharedArrayBuffer;
  /** The thread stops to renew when the other side did not run for this long. */
  readonly maxSilenceMs: number;
}

/** To the thread. */
export type ThreadRequest =
  | {
      readonly kind: "start";
      readonly id: number;
      readonly task: RenewalTask;
      /** One 64-bit integer: microseconds of the start of the last successful renewal. */
      readonly renewed: SharedArrayBuffer;
    }
  | { readonly kind: "stop"; readonly id: number }
  | { readonly kind: "close" };

/** From the thread. */
export type ThreadMessage =
  | { readonly kind: "stopped"; readonly id: number }
  | {
      readonly kind: "lost";
      readonly id: number;
      readonly lost: NonNullable<StorageErrorDetails["lost"]>;
      readonly message: string;
    }
  | { readonly kind: "closed" };

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

/** What both sides know of the thread: when the side that made it last ran, in microseconds of the monotonic clock, and whether it is up. */
export const ALIVE_BYTES = 16;
export const ALIVE_AT = 0;
export const IS_UP = 1;

/** What both sides know of a lease: the start of its last successful renewal in microseconds, and its stage. */
export const LEASE_BYTES = 16;
export const RENEWED_AT = 0;
export const STAGE = 1;

/** Each lease has one begin or none: whichever side is first decides, so that one that ends early waits for no thread. */
export const Stage = { waiting: 0n, begun: 1n, ended: 2n } as const;

/** What the thread starts with. */
export interface ThreadData {
  readonly source: StorageModuleReference;
  /** {@link ALIVE_BYTES} */
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
      /** {@link LEASE_BYTES} */
      readonly shared: SharedArrayBuffer;
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

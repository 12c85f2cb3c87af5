/**
 * What an acknowledged write survives: nothing, the death of this process, the death of the
 * operating system or the power supply, or the loss of a minority of machines.
 */
export type Durability = "none" | "process" | "os" | "replicated";

/** Upper bounds of an engine; what exceeds one fails with `STORAGE_TOO_LARGE` and changes nothing. */
export interface StorageLimits {
  /** UTF-8 bytes of a resource name. */
  readonly nameBytes: number;
  /** Bytes of `data.value`. */
  readonly dataBytes: number;
  /** UTF-8 bytes of everything else in a resource. */
  readonly envelopeBytes: number;
  /** Bytes of all resources of a batch together, counted as in `dataBytes` and `envelopeBytes`. */
  readonly batchBytes: number;
}

/**
 * What an engine can do beyond the seed's contract, and what it promises. Data, so that operators
 * can read it, callers can plan with it and the conformance suite can choose its cases by it.
 */
export interface StorageCapabilities {
  /** Name of the engine, for logs and error texts. */
  readonly engine: string;
  readonly durability: Durability;
  /**
   * Whether several instances, in several processes, may write to one store at the same time.
   * Leases on such a store are renewed by a thread of their own.
   */
  readonly shared: boolean;
  /** Whether `list` takes `strong`. */
  readonly strongList: boolean;
  /** Whether there are `listPage` and `listHeads`. */
  readonly pagedList: boolean;
  /** Most guards per write; 0 = none. */
  readonly guards: number;
  /** Most operations per batch; 0 = no batches. */
  readonly batch: number;
  /** Whether `watchList` gives an end-of-snapshot marker. */
  readonly endOfSnapshot: boolean;
  /** Whether events carry cursors from which a watch can be resumed. */
  readonly resume: boolean;
  readonly snapshot: boolean;
  readonly restore: boolean;
  readonly limits: StorageLimits;
}

/** Most operations in one batch, on every engine that has batches (design of this project). */
export const MAX_BATCH_OPERATIONS = 32;

/** Most guards of one write or batch, on every engine that has guards. */
export const MAX_GUARDS = 8;

/** Limits of the engines that set none of their own. */
export const DEFAULT_LIMITS: StorageLimits = Object.freeze({
  nameBytes: 512,
  dataBytes: 8 * 1024 * 1024,
  envelopeBytes: 256 * 1024,
  batchBytes: 32 * 1024 * 1024,
});

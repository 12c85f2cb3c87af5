import type { StorageErrorCode, StorageErrorDetails } from "../../errors.ts";
import type { ResourceFilter } from "../../key.ts";

// What the storage object and its worker thread say to each other. The worker deals in rows: keys,
// uids, versions and encoded bodies. Encoding, decoding and fan-out happen on the storage's side.

/** How the worker opens the database. */
export interface WorkerOptions {
  readonly directory: string;
  readonly readOnly: boolean;
  readonly integrity: IntegrityCheck;
  readonly historyEvents: number;
  readonly historyBytes: number;
  readonly cursorIdleMs: number;
}

/** How thoroughly the file is checked when it is opened. */
export type IntegrityCheck = "auto" | "full" | "quick" | "none";

/** A row to be written. */
export interface WriteRow {
  readonly key: string;
  readonly uid: string;
  /** The expected version, empty for a creation. */
  readonly expected: string;
  /** Lifetime key of the owner. */
  readonly owner: string | null;
  readonly body: Uint8Array;
  /** CRC-32 of the body. */
  readonly checksum: number;
}

/** A step of a write request. */
export type WriteStep =
  | { readonly kind: "write"; readonly row: WriteRow }
  | {
      readonly kind: "delete";
      readonly key: string;
      readonly uid: string;
      readonly expected: string;
    };

/** A guard as the worker judges it. */
export interface GuardRow {
  readonly key: string;
  /** Empty for any. */
  readonly uid: string;
  /** Empty for absence. */
  readonly version: string;
}

/** One write, delete or batch: applied as a whole or not at all. */
export interface WriteRequest {
  readonly guards: readonly GuardRow[];
  readonly steps: readonly WriteStep[];
}

/** A stored row as it is sent. */
export interface BodyRow {
  readonly version: string;
  readonly body: Uint8Array;
  readonly checksum: number;
}

/** What became of a step: the revision it was committed as; a delete also has what was deleted. */
export type StepResult =
  | { readonly kind: "written"; readonly revision: number }
  | { readonly kind: "deleted"; readonly revision: number; readonly row: BodyRow }
  | { readonly kind: "skipped" };

/** What became of a request. */
export type WriteOutcome =
  | { readonly kind: "applied"; readonly results: readonly StepResult[] }
  | {
      readonly kind: "refused";
      readonly code: "STORAGE_WRONG_UID" | "STORAGE_CAS_FAILURE";
      readonly index: number;
    }
  | { readonly kind: "guard"; readonly index: number };

/** What to scan. */
export type ScanTarget =
  | { readonly kind: "filter"; readonly filter: ResourceFilter }
  | { readonly kind: "owner"; readonly owner: string }
  | { readonly kind: "all" };

/** Rows of one point in time. */
export interface ScanPage {
  readonly rows: readonly BodyRow[];
  /** The last commit that the scan sees. */
  readonly revision: number;
  readonly epoch: string;
  /** Name of the open scan, absent when this was its last page. */
  readonly scan?: number;
}

/** A row of the history. */
export interface EventRow extends BodyRow {
  readonly revision: number;
  readonly operation: "upsert" | "delete";
}

/** Position and history of the store. */
export interface ChangePage {
  readonly epoch: string;
  readonly revision: number;
  /** Events after the given revision, or `undefined` when some of them are compacted. */
  readonly events: readonly EventRow[] | undefined;
}

/** What the worker can be asked to do, with its answers. */
export interface WorkerCalls {
  write: { argument: readonly WriteRequest[]; result: readonly WriteOutcome[] };
  read: { argument: string; result: BodyRow | undefined };
  scan: { argument: ScanTarget; result: ScanPage };
  page: { argument: number; result: ScanPage };
  endScan: { argument: number; result: undefined };
  /** Events after a revision; after nothing: just the position. */
  changes: {
    argument: { readonly after: number | undefined; readonly limit: number };
    result: ChangePage;
  };
  stage: {
    argument: { readonly restore: number; readonly rows: readonly StagedRow[] };
    result: undefined;
  };
  commitRestore: { argument: number; result: { readonly epoch: string } };
  abortRestore: { argument: number; result: undefined };
  compact: { argument: { readonly keep: number }; result: undefined };
  backup: { argument: string; result: undefined };
  close: { argument: undefined; result: undefined };
}

/** A row of a restore. */
export interface StagedRow extends Omit<WriteRow, "expected"> {
  readonly version: string;
}

/** Name of a worker call. */
export type WorkerCall = keyof WorkerCalls;

/** A call on its way to the worker. */
export interface CallMessage {
  readonly id: number;
  readonly call: WorkerCall;
  readonly argument: unknown;
}

/** An error on its way back. */
export interface ErrorMessage {
  readonly code: StorageErrorCode;
  readonly message: string;
  readonly details: StorageErrorDetails;
}

/** What comes from the worker: first whether it could open the store, then answers in call order. */
export type WorkerMessage =
  | { readonly kind: "open"; readonly epoch: string; readonly notices: readonly string[] }
  | { readonly kind: "failed"; readonly error: ErrorMessage }
  | { readonly kind: "result"; readonly id: number; readonly result: unknown }
  | { readonly kind: "error"; readonly id: number; readonly error: ErrorMessage };

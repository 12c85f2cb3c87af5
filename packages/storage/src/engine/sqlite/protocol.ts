import type { StorageErrorCode, StorageErrorDetails } from "../../errors.ts";
import type { HistorySize, ResolvedHistory } from "../../feed/history-options.ts";
import type { ResourceFilter } from "../../key.ts";
import type { ListContent } from "../../list/continuation.ts";
import type { PageBounds } from "../../list/page-bounds.ts";

// What the storage object and its worker thread say to each other. The worker deals in rows: keys,
// uids, versions and encoded bodies. Encoding, decoding and fan-out happen on the storage's side.

/** How the worker opens the database. */
export interface WorkerOptions {
  readonly directory: string;
  readonly readOnly: boolean;
  readonly integrity: IntegrityCheck;
  /** Bounds of the history. @default those that the store keeps */
  readonly history: ResolvedHistory | undefined;
  readonly cursorIdleMs: number;
}

/** How thoroughly the file is checked when it is opened. */
export type IntegrityCheck = "auto" | "full" | "quick" | "none";

// What every write pays for is made of tuples and bare numbers: to clone the name of a property into
// the other thread costs about as much as to clone its value.

/** A row to be written; `expected` is the version to replace, empty for a creation. */
export type WriteRow = readonly [
  key: string,
  uid: string,
  expected: string,
  /** Lifetime key of the owner. */
  owner: string | null,
  body: Uint8Array,
  /** CRC-32 of the body. */
  checksum: number,
];

/** A row to be deleted. */
type DeleteRow = readonly [key: string, uid: string, expected: string];

/** A step of a write request: a write by its row, or a delete by its. */
export type WriteStep = WriteRow | DeleteRow;

/** Whether a step is a write, not a deletion. */
export function isWriteRow(step: WriteStep): step is WriteRow {
  return step.length > 3;
}

/** A guard as the worker judges it; uid and version as in `Guard`. */
export type GuardRow = readonly [key: string, uid: string, version: string];

/**
 * One write, delete or batch: applied as a whole or not at all. A single write without guards, which
 * most requests are, is its row.
 */
export type WriteRequest =
  | WriteRow
  | readonly [steps: readonly WriteStep[], guards: readonly GuardRow[]];

/** Whether a request is a single write without guards. */
export function isSingleWrite(request: WriteRequest): request is WriteRow {
  return request.length > 2;
}

/** A stored row as it is sent. */
export interface BodyRow {
  readonly version: string;
  readonly body: Uint8Array;
  readonly checksum: number;
}

/** The identity of a row. */
export interface Located {
  readonly key: Uint8Array;
  readonly uid: string;
  readonly version: string;
}

/**
 * What became of a step: a write is the revision it was committed as, a delete that and what was
 * deleted, and a delete without effect nothing.
 */
export type StepResult = number | readonly [revision: number, row: BodyRow] | null;

/** What became of a request: the results of its steps (the one of a single write), or why it was refused. */
export type WriteOutcome =
  | number
  | readonly StepResult[]
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

/** A page of a list that is asked for. */
export interface ListPageRequest {
  readonly content: ListContent;
  readonly filter: ResourceFilter;
  readonly bounds: PageBounds;
  readonly continueAfter: string | undefined;
}

/** A row, or with the content `heads` the part of it that is no data. */
export interface HeadRow extends BodyRow {
  readonly data?: { readonly typeUrl: string; readonly bytes: number };
}

/** A page of a list. */
export interface ListPageRows {
  readonly rows: readonly HeadRow[];
  readonly continuation?: string;
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

/** A row of the history with its time, where it has one. */
export interface CommitRow extends EventRow {
  readonly atMs: number | null;
}

/** A stretch of the history, as `CommitPage`. */
export interface CommitRowPage {
  readonly line: string;
  readonly revision: number;
  readonly compacted: number;
  readonly commits: readonly CommitRow[];
}

/** What the worker can be asked to do, with its answers. */
export interface WorkerCalls {
  write: {
    argument: readonly [nowMs: number, requests: readonly WriteRequest[]];
    result: readonly WriteOutcome[];
  };
  read: { argument: string; result: BodyRow | undefined };
  scan: { argument: ScanTarget; result: ScanPage };
  page: { argument: number; result: ScanPage };
  listPage: { argument: ListPageRequest; result: ListPageRows };
  endScan: { argument: number; result: undefined };
  /** Fails with an error that names the resource of a row whose content is damaged. */
  reportDamage: { argument: Pick<BodyRow, "version" | "checksum">; result: undefined };
  /** Events after a revision; after nothing: just the position. */
  changes: {
    argument: { readonly after: number | undefined; readonly limit: number };
    result: ChangePage;
  };
  /** A page of the history after a revision. */
  commits: { argument: number; result: CommitRowPage };
  stage: {
    argument: { readonly restore: number; readonly rows: readonly StagedRow[] };
    result: undefined;
  };
  commitRestore: { argument: number; result: { readonly epoch: string } };
  abortRestore: { argument: number; result: undefined };
  historySize: { argument: undefined; result: HistorySize };
  historyBounds: { argument: undefined; result: ResolvedHistory };
  compact: { argument: { readonly keep: number }; result: undefined };
  /** Forgets history that is too old at a time. */
  expire: { argument: number; result: undefined };
  backup: { argument: string; result: undefined };
  close: { argument: undefined; result: undefined };
}

/** A row of a restore: as one to be written, with its version in the place of the expected one. */
export type StagedRow = WriteRow;

/** Name of a worker call. */
export type WorkerCall = keyof WorkerCalls;

/** A call on its way to the worker. */
export type CallMessage = readonly [id: number, call: WorkerCall, argument: unknown];

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
  | AnswerMessage;

/** An answer: the result, or in the third place an error. */
export type AnswerMessage = readonly [id: number, result: unknown, error?: ErrorMessage];

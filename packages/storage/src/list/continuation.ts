import { createHash } from "node:crypto";
import { StorageError } from "../errors.ts";
import type { ResourceFilter } from "../key.ts";

// A continuation is opaque to callers: the epoch of the store, where the rest of the list is held (a
// store revision, or the name of an open list), a digest of the query, and the key of the last
// resource that was taken. It comes back from clients, so nothing of it is trusted: a key outside of the query selects
// nothing, and the name of an open list is random.

/** What a page goes on from. */
export interface Continuation {
  /** Epoch of the store. */
  readonly epoch: string;
  /** What holds the store revision of the list, by the engine's own naming. */
  readonly list: string;
  /** Digest of the query. */
  readonly query: string;
  /** Key of the last resource that was taken, in the engine's own form. */
  readonly after: string;
}

/** Which method a list is of. */
export type ListContent = "resources" | "heads";

/** Longest text of a continuation: an epoch, a name and a key at their limits, each byte escaped. */
const MAX_CHARACTERS = 32 * 1024;

const FORMAT = 1;

/** The digest by which a continuation is bound to its query. */
export function queryDigest(content: ListContent, filter: ResourceFilter): string {
  const { type, tenancy, namePrefix } = filter;
  const { partition, peerName, namespace } = tenancy;
  const parts = [content, type.group, type.kind, partition, peerName, namespace, namePrefix];
  return createHash("sha256").update(JSON.stringify(parts)).digest("base64url").slice(0, 22);
}

/** The text of a continuation. */
export function formatContinuation({ epoch, list, query, after }: Continuation): string {
  return Buffer.from(JSON.stringify([FORMAT, epoch, list, query, after])).toString("base64url");
}

/**
 * Reads a continuation. `STORAGE_INVALID_ARGUMENT` when it is none or of another query,
 * `STORAGE_LIST_EXPIRED` when it is of another epoch or in the form of another release.
 */
export function parseContinuation(text: string, epoch: string, query: string): Continuation {
  const parts = decode(text);
  const [format, ...fields] = parts;
  if (format !== FORMAT) {
    if (typeof format !== "number") throw malformed();
    throw listExpired("the continuation was made by another release");
  }
  if (fields.length !== 4 || !fields.every(isText)) throw malformed();
  const [storeEpoch, list, digest, after] = fields as [string, string, string, string];
  if (digest !== query) {
    throw invalid("is of another list: method, type, tenancy and prefix have to be the same");
  }
  if (storeEpoch !== epoch) {
    throw listExpired(
      "the continuation is of another store, or from before its content was replaced",
    );
  }
  return { epoch, list, query, after };
}

/** The error of a list whose store revision is not held any more. */
export function listExpired(why: string): StorageError {
  return new StorageError("STORAGE_LIST_EXPIRED", `${why}; list again from the first page`);
}

function decode(text: string): readonly unknown[] {
  if (typeof text !== "string" || text.length > MAX_CHARACTERS || !/^[\w-]+$/.test(text)) {
    throw malformed();
  }
  try {
    const parts: unknown = JSON.parse(Buffer.from(text, "base64url").toString("utf8"));
    if (Array.isArray(parts)) return parts;
  } catch {
    // Not ours either.
  }
  throw malformed();
}

function isText(value: unknown): value is string {
  return typeof value === "string" && value.isWellFormed();
}

function malformed(): StorageError {
  return invalid("is not a continuation of a list");
}

function invalid(what: string): StorageError {
  return new StorageError("STORAGE_INVALID_ARGUMENT", `continueAfter ${what}`, {
    details: { field: "continueAfter" },
  });
}

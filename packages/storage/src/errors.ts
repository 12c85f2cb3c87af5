import type { ErrorKind } from "@stackwright/base/error-kind";
import type { Resource, ResourceId, ResourceType } from "./resource.ts";
import type { Guard } from "./types.ts";

/**
 * Every error code of this package. The first six are the seed's; their gRPC statuses are those
 * between a follower and a leader of Consul's backend. A write that is retryable may succeed after
 * its resource was read again.
 */
export const STORAGE_ERRORS = Object.freeze({
  STORAGE_NOT_FOUND: {
    retryable: false,
    grpcStatus: 5,
    httpStatus: 404,
    summary: "the resource is not stored",
  },
  STORAGE_CAS_FAILURE: {
    retryable: true,
    grpcStatus: 10,
    httpStatus: 409,
    summary: "the given version is not the stored one",
  },
  STORAGE_WRONG_UID: {
    retryable: false,
    grpcStatus: 6,
    httpStatus: 409,
    summary: "another lifetime of the resource is stored",
  },
  STORAGE_INCONSISTENT: {
    retryable: true,
    grpcStatus: 9,
    httpStatus: 503,
    summary: "the operation could not be done with the required consistency",
  },
  STORAGE_GROUP_VERSION_MISMATCH: {
    retryable: false,
    grpcStatus: 11,
    httpStatus: 409,
    summary: "the resource is stored with another group version",
  },
  STORAGE_WATCH_CLOSED: {
    retryable: true,
    grpcStatus: 10,
    httpStatus: 410,
    summary: "the watch cannot continue without loss",
  },
  STORAGE_LIST_EXPIRED: {
    retryable: true,
    grpcStatus: 10,
    httpStatus: 410,
    summary: "the list cannot continue at its store revision; list again from the first page",
  },
  STORAGE_WATCH_ENDED: {
    retryable: false,
    grpcStatus: 1,
    httpStatus: 499,
    summary: "the watch was closed by its consumer",
  },
  STORAGE_GUARD_FAILED: {
    retryable: false,
    grpcStatus: 9,
    httpStatus: 412,
    summary: "a guard of the write does not hold",
  },
  STORAGE_INVALID_ARGUMENT: {
    retryable: false,
    grpcStatus: 3,
    httpStatus: 400,
    summary: "an argument is not valid",
  },
  STORAGE_TOO_LARGE: {
    retryable: false,
    grpcStatus: 8,
    httpStatus: 413,
    summary: "a limit of the engine is exceeded",
  },
  STORAGE_QUOTA_EXCEEDED: {
    retryable: false,
    grpcStatus: 8,
    httpStatus: 507,
    summary: "the owner's quota of bytes for blobs is exceeded",
  },
  STORAGE_UNSUPPORTED: {
    retryable: false,
    grpcStatus: 12,
    httpStatus: 501,
    summary: "the engine does not have this capability",
  },
  STORAGE_PERMISSION_DENIED: {
    retryable: false,
    grpcStatus: 7,
    httpStatus: 403,
    summary: "the caller is not allowed to do this",
  },
  STORAGE_READ_ONLY: {
    retryable: false,
    grpcStatus: 9,
    httpStatus: 405,
    summary: "the store is open for reading only",
  },
  STORAGE_LOCKED: {
    retryable: true,
    grpcStatus: 9,
    httpStatus: 423,
    summary: "another process writes to the store",
  },
  STORAGE_CORRUPT: {
    retryable: false,
    grpcStatus: 15,
    httpStatus: 500,
    summary: "the stored data is damaged",
  },
  STORAGE_SCHEMA: {
    retryable: false,
    grpcStatus: 9,
    httpStatus: 500,
    summary: "the store has a layout that this release cannot use",
  },
  STORAGE_LEASE_LOST: {
    retryable: false,
    grpcStatus: 10,
    httpStatus: 409,
    summary: "the lease is held by another or could not be renewed in time",
  },
} satisfies Record<string, Required<ErrorKind>>);

/** Code of a {@link StorageError}; codes are contract, message texts are not. */
export type StorageErrorCode = keyof typeof STORAGE_ERRORS;

/** Facts about an error, as far as its code has them. */
export interface StorageErrorDetails {
  /** Position in the batch of the operation that failed. */
  readonly index?: number;
  /** The resource that the operation was about. */
  readonly id?: ResourceId;
  /** The guard that did not hold. */
  readonly guard?: Guard;
  /**
   * The argument that is not valid or too large, as a path. Of `STORAGE_PERMISSION_DENIED`: `token` where that is not known, or not any
   * more, so that no later call with it is answered otherwise.
   */
  readonly field?: string;
  readonly limit?: number;
  readonly actual?: number;
  /** Of `STORAGE_QUOTA_EXCEEDED`: whose quota it is. */
  readonly owner?: string;
  /** Of `STORAGE_QUOTA_EXCEEDED`: bytes that the blobs of the owner have. */
  readonly used?: number;
  /**
   * Of `STORAGE_INCONSISTENT` on writes: `not-applied` when nothing was changed, `unknown` when the
   * answer was lost; then read and compare `generation` to learn whether the write happened.
   */
  readonly outcome?: "not-applied" | "unknown";
  /**
   * Of `STORAGE_LEASE_LOST`: `late` when no renewal was answered in time, `taken` when another worker has it, `refused` when it cannot be
   * renewed any more.
   */
  readonly lost?: "late" | "taken" | "refused";
  /** Of `STORAGE_INCONSISTENT`: the folder of an embedded store whose file system has no more space. */
  readonly fullDisk?: string;
  /** Of `STORAGE_LOCKED`: who holds the lock. */
  readonly holder?: { readonly pid: number; readonly host: string; readonly since: string };
}

/** Options of the {@link StorageError} constructor. */
export interface StorageErrorOptions {
  readonly details?: StorageErrorDetails;
  readonly cause?: unknown;
}

/** The one error class of this package; `code` says what happened. */
export class StorageError extends Error {
  override readonly name: string = "StorageError";
  readonly code: StorageErrorCode;
  readonly retryable: boolean;
  readonly details: StorageErrorDetails;

  constructor(code: StorageErrorCode, message?: string, options: StorageErrorOptions = {}) {
    super(
      message ?? STORAGE_ERRORS[code].summary,
      "cause" in options ? { cause: options.cause } : undefined,
    );
    this.code = code;
    this.retryable = STORAGE_ERRORS[code].retryable;
    this.details = options.details ?? {};
  }

  /**
   * Turns a thrown value into a `StorageError`; a value of another type becomes `STORAGE_INCONSISTENT`
   * with the original as its cause and, by default, an unknown outcome.
   */
  static from(
    thrown: unknown,
    details: StorageErrorDetails = { outcome: "unknown" },
  ): StorageError {
    if (thrown instanceof StorageError) return thrown;
    const reason = thrown instanceof Error ? thrown.message : String(thrown);
    return new StorageError("STORAGE_INCONSISTENT", reason, { cause: thrown, details });
  }
}

/**
 * Thrown by `read` for a resource that is stored with another group version than the one asked for.
 * It carries the stored resource, which a caller may translate.
 */
export class GroupVersionMismatchError extends StorageError {
  override readonly name = "GroupVersionMismatchError";
  readonly requestedType: ResourceType;
  readonly stored: Resource;

  constructor(requestedType: ResourceType, stored: Resource) {
    super(
      "STORAGE_GROUP_VERSION_MISMATCH",
      `asked for group version "${requestedType.groupVersion}" of "${stored.id.name}", ` +
        `stored is "${stored.id.type.groupVersion}"`,
      { details: { id: stored.id } },
    );
    this.requestedType = requestedType;
    this.stored = stored;
  }
}

/** Whether a thrown value is a `StorageError` with one of the given codes. */
export function isStorageError(
  thrown: unknown,
  ...codes: readonly StorageErrorCode[]
): thrown is StorageError {
  return thrown instanceof StorageError && (codes.length === 0 || codes.includes(thrown.code));
}

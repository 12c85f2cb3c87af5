import { RpcError } from "@stackwright/proto/grpc";
import { StorageError } from "../../errors.ts";

/** What a failed call means. */
interface RpcFailure {
  readonly error: StorageError;
  /** The server has certainly not begun with it. */
  readonly untouched: boolean;
  /** Another member may answer. */
  readonly elsewhere: boolean;
  /** The token is not valid any more. */
  readonly unauthenticated: boolean;
}

/** What a cluster says whose database has come to its quota: from then on it takes no writes until its alarm is ended. */
const NO_SPACE = "etcdserver: mvcc: database space exceeded";

/** Texts of refusals that come before anything is proposed to the cluster. */
const REFUSED_BEFORE = [
  "No connection established",
  "etcdserver: no leader",
  "etcdserver: too many requests",
  NO_SPACE,
  "etcdserver: not capable",
  "etcdserver: server stopped",
  "etcdserver: invalid auth token",
  "etcdserver: revision of auth store is old",
];

/** Classifies a failed call and returns the error for its caller. */
export function readFailure(thrown: unknown, kind: "read" | "write"): RpcFailure {
  if (!(thrown instanceof RpcError)) {
    const details = kind === "write" ? ({ outcome: "unknown" } as const) : {};
    return failure(StorageError.from(thrown, details));
  }
  const { code, rawMessage } = thrown;
  const cause = { cause: thrown };
  if (code === "INVALID_ARGUMENT" && /too large|too many operations/.test(rawMessage)) {
    return failure(new StorageError("STORAGE_TOO_LARGE", rawMessage, cause));
  }
  if (code === "RESOURCE_EXHAUSTED" && /larger than max/.test(rawMessage)) {
    return failure(new StorageError("STORAGE_TOO_LARGE", rawMessage, cause));
  }
  const stranger =
    code === "INVALID_ARGUMENT" && /authentication failed|user name is empty/.test(rawMessage);
  if (code === "PERMISSION_DENIED" || stranger) {
    return failure(new StorageError("STORAGE_PERMISSION_DENIED", rawMessage, cause));
  }
  const unauthenticated =
    code === "UNAUTHENTICATED" || rawMessage.includes("revision of auth store is old");
  const untouched = unauthenticated || REFUSED_BEFORE.some((text) => rawMessage.startsWith(text));
  const details =
    kind === "write" ? ({ outcome: untouched ? "not-applied" : "unknown" } as const) : {};
  const message = rawMessage.startsWith(NO_SPACE)
    ? "the database of etcd is full: have it compacted and defragmented, or give it a larger --quota-backend-bytes, and end " +
      "the alarm with `etcdctl alarm disarm`"
    : rawMessage;
  return {
    error: new StorageError("STORAGE_INCONSISTENT", message, { ...cause, details }),
    untouched,
    elsewhere: code === "UNAVAILABLE" || code === "DEADLINE_EXCEEDED" || code === "CANCELLED",
    unauthenticated,
  };
}

function failure(error: StorageError): RpcFailure {
  return { error, untouched: true, elsewhere: false, unauthenticated: false };
}

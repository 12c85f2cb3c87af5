import { createDetail, detailType, RpcError, rpcCodeOf } from "@stackwright/proto/grpc";
import { StorageErrorDetail, WriteOutcome } from "@stackwright/proto/storage";
import {
  idToMessage,
  messageToId,
  messageToResource,
  messageToType,
  resourceToMessage,
  typeToMessage,
} from "../../codec.ts";
import {
  GroupVersionMismatchError,
  STORAGE_ERRORS,
  StorageError,
  type StorageErrorCode,
  type StorageErrorDetails,
} from "../../errors.ts";
import { guardToMessage, messageToGuard } from "./wire.ts";

// A storage error travels as the gRPC status of its code, and in full in the status details.

const DETAIL = detailType("stackwright.storage.v1.StorageErrorDetail", StorageErrorDetail);

/** What the server fails a call with; what is no storage error is not shown to the client. */
export function storageToRpcError(thrown: unknown): RpcError {
  if (thrown instanceof RpcError) return thrown;
  if (!(thrown instanceof StorageError)) {
    return new RpcError("INTERNAL", "the storage service failed", { cause: thrown });
  }
  const { code, details, message } = thrown;
  const detail = StorageErrorDetail.create({
    code,
    index: details.index,
    id: details.id && idToMessage(details.id),
    guard: details.guard && guardToMessage(details.guard),
    field: details.field,
    limit: details.limit === undefined ? undefined : BigInt(Math.trunc(details.limit)),
    actual: details.actual === undefined ? undefined : BigInt(Math.trunc(details.actual)),
    outcome: outcomeToMessage(details.outcome),
    owner: details.owner,
    used: details.used === undefined ? undefined : BigInt(Math.trunc(details.used)),
    groupVersionMismatch:
      thrown instanceof GroupVersionMismatchError
        ? {
            requestedType: typeToMessage(thrown.requestedType),
            stored: resourceToMessage(thrown.stored),
          }
        : undefined,
  });
  return new RpcError(rpcCodeOf(STORAGE_ERRORS[code].grpcStatus), message, {
    details: [createDetail(DETAIL, detail)],
    cause: thrown,
  });
}

/**
 * What the client makes of a failed call. Without a status of the service (no connection, deadline,
 * a proxy in between) it is `STORAGE_INCONSISTENT`, and of a write it is not known whether it
 * happened, unless it was never sent. A call that the server does not know is `STORAGE_UNSUPPORTED`: it was not begun.
 */
export function rpcToStorageError(thrown: unknown, kind: "read" | "write"): StorageError {
  if (thrown instanceof StorageError) return thrown;
  const cause = { cause: thrown };
  if (thrown instanceof RpcError) {
    const [detail] = thrown.findDetails(DETAIL);
    if (detail !== undefined) return detailToError(detail, thrown);
    const { code, rawMessage } = thrown;
    if (code === "UNAUTHENTICATED" || code === "PERMISSION_DENIED") {
      return new StorageError("STORAGE_PERMISSION_DENIED", rawMessage, cause);
    }
    if (code === "UNIMPLEMENTED") {
      return new StorageError(
        "STORAGE_UNSUPPORTED",
        `the server does not know this call: it is of a release that this one does not speak with, or no storage service (${rawMessage})`,
        cause,
      );
    }
    if (code === "RESOURCE_EXHAUSTED" && /larger than max/.test(rawMessage)) {
      return new StorageError("STORAGE_TOO_LARGE", rawMessage, cause);
    }
  }
  const message = thrown instanceof RpcError ? thrown.rawMessage : undefined;
  const unsent = message?.startsWith("No connection") === true;
  const details: StorageErrorDetails =
    kind === "read" ? {} : { outcome: unsent ? "not-applied" : "unknown" };
  return message === undefined
    ? StorageError.from(thrown, details)
    : new StorageError("STORAGE_INCONSISTENT", message, { ...cause, details });
}

function detailToError(detail: StorageErrorDetail, cause: RpcError): StorageError {
  const { code, index, id, guard, field, limit, actual, outcome, owner, used } = detail;
  const { groupVersionMismatch } = detail;
  if (groupVersionMismatch?.stored !== undefined) {
    const requested = messageToType(groupVersionMismatch.requestedType);
    return new GroupVersionMismatchError(requested, messageToResource(groupVersionMismatch.stored));
  }
  if (!isCode(code)) {
    // A newer server: its status is all that is understood.
    return new StorageError("STORAGE_INCONSISTENT", cause.rawMessage, { cause });
  }
  const knownOutcome = messageToOutcome(outcome);
  const details: StorageErrorDetails = {
    ...(index === undefined ? {} : { index }),
    ...(id === undefined ? {} : { id: messageToId(id) }),
    ...(guard === undefined ? {} : { guard: messageToGuard(guard) }),
    ...(field === undefined ? {} : { field }),
    ...(limit === undefined ? {} : { limit: Number(limit) }),
    ...(actual === undefined ? {} : { actual: Number(actual) }),
    ...(owner === undefined ? {} : { owner }),
    ...(used === undefined ? {} : { used: Number(used) }),
    ...(knownOutcome === undefined ? {} : { outcome: knownOutcome }),
  };
  return new StorageError(code, cause.rawMessage, { details, cause });
}

function isCode(code: string): code is StorageErrorCode {
  return Object.hasOwn(STORAGE_ERRORS, code);
}

function outcomeToMessage(outcome: StorageErrorDetails["outcome"]): WriteOutcome {
  if (outcome === "not-applied") return WriteOutcome.WRITE_OUTCOME_NOT_APPLIED;
  if (outcome === "unknown") return WriteOutcome.WRITE_OUTCOME_UNKNOWN;
  return WriteOutcome.WRITE_OUTCOME_UNSPECIFIED;
}

function messageToOutcome(outcome: WriteOutcome): StorageErrorDetails["outcome"] {
  if (outcome === WriteOutcome.WRITE_OUTCOME_NOT_APPLIED) return "not-applied";
  return outcome === WriteOutcome.WRITE_OUTCOME_UNKNOWN ? "unknown" : undefined;
}

import { GRPC_STATUSES, type GrpcStatus } from "../errors.ts";

/** Names of the statuses as Go prints them. */
const goNames: readonly string[] = [
  "OK",
  "Canceled",
  "Unknown",
  "InvalidArgument",
  "DeadlineExceeded",
  "NotFound",
  "AlreadyExists",
  "PermissionDenied",
  "ResourceExhausted",
  "FailedPrecondition",
  "Aborted",
  "OutOfRange",
  "Unimplemented",
  "Internal",
  "Unavailable",
  "DataLoss",
  "Unauthenticated",
];

const byName: ReadonlyMap<string, GrpcStatus> = new Map(
  GRPC_STATUSES.flatMap((status, i) => [
    [status, status],
    [goNames[i] ?? status, status],
    [String(i), status],
    [`Code(${i})`, status],
  ]),
);

/**
 * The text of a gRPC error, in the form in which Go prints one. The contract has no member for the
 * status, and this form is what a function written in Go sends when it just prints its error.
 */
export function formatGrpcError(status: GrpcStatus, description: string): string {
  return `rpc error: code = ${goNames[GRPC_STATUSES.indexOf(status)]} desc = ${description}`;
}

/** Reads status and description back; without them the status is `UNKNOWN`. */
export function parseGrpcError(text: string): {
  readonly status: GrpcStatus;
  readonly description: string;
} {
  const found = /code = ([A-Za-z_]+|\d+|Code\(\d+\)) desc = /.exec(text);
  const status = byName.get(found?.[1] ?? "");
  if (found === null || status === undefined || status === "OK") {
    return { status: "UNKNOWN", description: text };
  }
  return { status, description: text.slice(found.index + found[0].length) };
}

/** Greatest length of a part of a message for users. */
const MAX_TEXT = 8 * 1024;

/**
 * Text from a function, fit for a terminal and a log: without control characters other than line breaks
 * and tabs, without directional overrides, and not endless.
 */
export function sanitizeRemoteText(text: string, maxLength = MAX_TEXT): string {
  const cut = text.length > maxLength ? `${text.slice(0, maxLength)}... (cut)` : text;
  return cut.replaceAll(/[\p{Cc}\u202a-\u202e\u2066-\u2069]/gu, (character) =>
    character === "\n" || character === "\t" ? character : "",
  );
}

import type { RpcError } from "@stackwright/proto/grpc";
import { MuxError } from "./errors.ts";

/** After these errors it is unknown whether a change happened. */
const STATE_UNKNOWN = new Set([
  "INTERNAL",
  "DATA_LOSS",
  "UNAVAILABLE",
  "DEADLINE_EXCEEDED",
  "CANCELLED",
]);

/** A plain error, which is what most programs fail with, says of a create neither that it happened nor that it did not. */
export function isStateUnknown({ code, cause }: RpcError, creates: boolean): boolean {
  if (cause instanceof MuxError && cause.outcome === "not-applied") return false;
  return STATE_UNKNOWN.has(code) || (creates && code === "UNKNOWN");
}

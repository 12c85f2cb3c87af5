import { RpcError } from "@stackwright/proto/grpc";
import { MuxError, type MuxErrorCode } from "./errors.ts";

const LOSSES: ReadonlySet<MuxErrorCode> = new Set([
  "MUX_SERVER_TIMEOUT",
  "MUX_SERVER_UNAVAILABLE",
  "MUX_PROCESS_ENDED",
  "MUX_PROCESS_CRASHED",
]);

/** Whether the server itself was lost or did not answer, as opposed to an answer that is an error. */
export function isLoss(failure: unknown): boolean {
  if (failure instanceof RpcError) return failure.code === "UNAVAILABLE";
  return failure instanceof MuxError && LOSSES.has(failure.code);
}

/** Texts that gRPC clients make themselves, where no answer of the server is behind the status. */
const TRANSPORT_TEXT =
  /^(?:No connection established|Connection dropped|Channel has been shut down|Deadline exceeded|Received (?:RST_STREAM|HTTP status|message larger))/;

/**
 * A failure of the way to a server says nothing of which server it was: the same failure with the server's name
 * in front. Its code, details and trailers stay. All other errors are answers of the server, and stay as they are.
 */
export function nameLoss(failure: RpcError | MuxError, server: string): RpcError | MuxError {
  if (failure instanceof MuxError) {
    if (failure.server !== undefined || !isLoss(failure)) return failure;
    const { code, token, outcome } = failure;
    return new MuxError(code, `server ${server}: ${failure.message}`, {
      server,
      outcome,
      cause: failure,
      ...(token !== undefined && { token }),
    });
  }
  if (!isLoss(failure) && !TRANSPORT_TEXT.test(failure.rawMessage)) return failure;
  const { code, rawMessage, details, metadata } = failure;
  return new RpcError(code, `server ${server}: ${rawMessage}`, {
    metadata,
    cause: failure,
    ...(details.length > 0 && { details }),
  });
}

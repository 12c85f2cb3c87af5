import { isNodeClient, limitErrorSize } from "./node-limits.ts";
import { RpcError, type RpcStatus } from "./rpc-error.ts";
import type { HandlerContext, HandlerOptions } from "./server-call.ts";

/** The status of what a handler threw, with the trailer of its call, as its client can receive it. Reports it to the log. */
export function statusOfFailure(
  error: unknown,
  context: HandlerContext,
  options: HandlerOptions,
): RpcStatus {
  const status = describe(error, context, options).toStatus();
  const metadata = context.trailer.clone();
  metadata.merge(status.metadata);
  const sent = { ...status, metadata };
  return isNodeClient(context.metadata) ? limitErrorSize(sent) : sent;
}

function describe(
  error: unknown,
  context: HandlerContext,
  { mapError, onError }: HandlerOptions,
): RpcError {
  try {
    onError?.(error, context);
    return mapError === undefined ? RpcError.from(error) : mapError(error, context);
  } catch (hookError) {
    return new RpcError("INTERNAL", "an error could not be reported", { cause: hookError });
  }
}

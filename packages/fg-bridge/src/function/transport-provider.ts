import { type PluginTransport, TfpluginError } from "@stackwright/tfplugin";
import { FgBridgeError, GRPC_STATUSES } from "../errors.ts";

/**
 * One call over a transport, with its failure as an error of this package: the status that the provider gave, and the outcome
 * as the transport knows it.
 */
export async function callProvider(
  transport: PluginTransport,
  method: string,
  request: Uint8Array,
  signal: AbortSignal,
): Promise<Uint8Array> {
  try {
    return await transport.unary(method, request, { signal });
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof TfpluginError)) throw error;
    const died =
      error.code === "TFPLUGIN_PROCESS_CRASHED" ||
      error.code === "TFPLUGIN_PROCESS_ENDED" ||
      error.code === "TFPLUGIN_CONNECTION_LOST";
    throw new FgBridgeError(died ? "FG_PROVIDER_DIED" : "FG_FUNCTION_ERROR", error.message, {
      cause: error,
      status: statusOf(error),
      outcome: error.outcome,
      method,
    });
  }
}

/** A failure that the provider gave a status for has it in its cause. */
function statusOf(error: TfpluginError): FgBridgeError["status"] {
  const code = (error.cause as { readonly code?: unknown } | undefined)?.code;
  return GRPC_STATUSES.find((status) => status === code) ?? error.status;
}

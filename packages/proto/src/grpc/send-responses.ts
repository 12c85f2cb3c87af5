import { type MessageTarget, Outbound } from "./outbound.ts";
import { DEFAULT_BUFFER_BYTES, type Messages } from "./service.ts";

/** What is needed of a call to send its responses. */
interface RespondingCall {
  readonly signal: AbortSignal;
  encode(response: unknown): Buffer;
}

/** Sends a stream of responses. False when the call was cancelled before all was sent. */
export function sendResponses(
  call: RespondingCall,
  target: MessageTarget,
  responses: Messages<unknown>,
  bufferBytes: number = DEFAULT_BUFFER_BYTES,
): Promise<boolean> {
  const outbound = new Outbound<unknown>(target, (response) => call.encode(response), bufferBytes);
  const { signal } = call;
  if (signal.aborted) outbound.stop();
  else signal.addEventListener("abort", () => outbound.stop(), { once: true });
  return outbound.sendAll(responses);
}

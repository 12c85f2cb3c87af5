import { TfpluginError } from "../errors.ts";
import type { PluginTransport, TransportCall } from "../transport/plugin-transport.ts";

/** One call of a conversation with a provider; messages in base64, an error by its code. */
export interface TranscriptEntry {
  readonly method: string;
  readonly request: string;
  readonly response?: string;
  readonly error?: string;
}

export interface Transcript {
  readonly protocol: 5 | 6;
  readonly entries: readonly TranscriptEntry[];
}

const base64 = (bytes: Uint8Array) => Buffer.from(bytes).toString("base64");

/** A transport that notes down what passes through it. Calls one after the other. */
export function recordingTransport(inner: PluginTransport): {
  readonly transport: PluginTransport;
  readonly transcript: () => Transcript;
} {
  const entries: TranscriptEntry[] = [];
  const close = async (): Promise<void> => inner.close();
  const transport: PluginTransport = {
    protocol: inner.protocol,
    async unary(method: string, request: Uint8Array, call: TransportCall) {
      try {
        const response = await inner.unary(method, request, call);
        entries.push({ method, request: base64(request), response: base64(response) });
        return response;
      } catch (error) {
        if (error instanceof TfpluginError) {
          entries.push({ method, request: base64(request), error: error.code });
        }
        throw error;
      }
    },
    close,
    [Symbol.asyncDispose]: close,
  };
  return { transport, transcript: () => ({ protocol: inner.protocol, entries: [...entries] }) };
}

/**
 * A transport that answers as a provider once did. It must be asked the same again, byte by byte and in the same order;
 * anything else is rejected with an error that says where the conversations part.
 */
export function replayingTransport({ protocol, entries }: Transcript): PluginTransport & {
  readonly remaining: () => number;
} {
  let position = 0;
  const close = async (): Promise<void> => Promise.resolve();
  return {
    protocol,
    async unary(method: string, request: Uint8Array) {
      const entry = entries[position];
      const asked = base64(request);
      if (entry?.method !== method || entry.request !== asked) {
        const expected = entry === undefined ? "nothing more" : entry.method;
        throw new Error(
          `call ${position}: asked ${method} (${asked}), recorded is ${expected} (${entry?.request})`,
        );
      }
      position += 1;
      if (entry.response !== undefined) return Buffer.from(entry.response, "base64");
      throw new TfpluginError(
        (entry.error ?? "TFPLUGIN_CALL_FAILED") as "TFPLUGIN_CALL_FAILED",
        "",
      );
    },
    close,
    [Symbol.asyncDispose]: close,
    remaining: () => entries.length - position,
  };
}

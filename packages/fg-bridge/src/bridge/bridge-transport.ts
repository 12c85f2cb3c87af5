import { randomUUID } from "node:crypto";
import { type Clock, sleep, systemClock } from "@stackwright/base/clock";
import { type PluginTransport, TfpluginError, type TransportCall } from "@stackwright/tfplugin";
import { methodByName } from "../envelope/methods.ts";
import { errorResponse, unchangedObject } from "../envelope/wire.ts";
import { FgBridgeError } from "../errors.ts";

export interface BridgeTransportOptions {
  /** To the function. Closed with this. */
  readonly remote: PluginTransport;
  /** The response to GetSchema. */
  readonly schema: Uint8Array;
  /** Address of the provider, for messages. */
  readonly address: string;
  /** How long an apply continues after the command asked to stop, in milliseconds. @default 5000 */
  readonly stopGraceMs?: number;
  readonly clock?: Clock;
}

/**
 * A function-hosted provider as the `terraform` command drives it.
 *
 * - The schema is at hand; everything else goes to the function, byte for byte.
 * - A function that fails is a diagnostic, never a gRPC error: the command explains diagnostics, and takes a gRPC
 *   error for a crash. A failed apply says that the object is as it was, since the command would forget it otherwise.
 * - Every apply is a separate operation, so that a function with a journal recognizes its repetitions.
 * - Stop ends reading calls at once, and applies after a grace in which their result may still come.
 */
export class BridgeTransport implements PluginTransport {
  readonly protocol = 5;
  readonly #options: Required<BridgeTransportOptions>;
  readonly #reading = new AbortController();
  readonly #applying = new AbortController();

  constructor(options: BridgeTransportOptions) {
    this.#options = { stopGraceMs: 5000, clock: systemClock, ...options };
  }

  async unary(name: string, request: Uint8Array, call: TransportCall): Promise<Uint8Array> {
    if (name === "GetSchema") return this.#options.schema;
    if (name === "Stop") return this.#stop(request);
    const method = methodByName(name);
    const { remote } = this.#options;
    const stopped = method?.repeatable === false ? this.#applying.signal : this.#reading.signal;
    const signals = [stopped, ...(call.signal === undefined ? [] : [call.signal])];
    const isApply = method?.repeatable === false;
    try {
      return await remote.unary(name, request, {
        ...call,
        signal: AbortSignal.any(signals),
        ...(isApply ? { operation: { operationId: randomUUID(), epoch: 0n } } : {}),
      });
    } catch (error) {
      call.signal?.throwIfAborted();
      if (method === undefined || method.diagnosticsField === undefined) throw error;
      const { summary, detail } = this.#explain(name, error, isApply);
      const response = errorResponse(method.diagnosticsField, summary, detail);
      return isApply ? Buffer.concat([response, unchangedObject(request)]) : response;
    }
  }

  close(): Promise<void> {
    return this.#options.remote.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #stop(request: Uint8Array): Uint8Array {
    const { remote, clock, stopGraceMs } = this.#options;
    const reason = new FgBridgeError("FG_CLOSED", "the command was interrupted", {
      outcome: "unknown",
    });
    this.#reading.abort(reason);
    // The function may know how to end early; whether or not, an apply gets its time.
    void remote.unary("Stop", request, {}).catch(() => undefined);
    void sleep(clock, stopGraceMs).then(() => this.#applying.abort(reason));
    return new Uint8Array();
  }

  #explain(
    method: string,
    error: unknown,
    isApply: boolean,
  ): { readonly summary: string; readonly detail: string } {
    const { address } = this.#options;
    const known =
      error instanceof FgBridgeError || error instanceof TfpluginError ? error : undefined;
    const text = error instanceof Error ? error.message : String(error);
    const open = isApply && known?.outcome !== "not-applied";
    const summary = open
      ? "The result of the change is not known"
      : "The function of the provider failed";
    const consequence = open
      ? "The change may have been made although no answer came. Check the real object before you try again: the " +
        "state says what was known before the change."
      : isApply
        ? "The change was not begun; the object is as it was."
        : "Nothing was changed.";
    const code = known === undefined ? "" : ` (${known.code})`;
    return { summary, detail: `${address}, ${method}: ${text}${code}.\n\n${consequence}` };
  }
}

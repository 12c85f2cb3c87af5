import type { OperationIdentity } from "@stackwright/mux/router";

/**
 * How the messages of a Terraform provider travel: a local gRPC connection, or an HTTP function.
 *
 * Messages are opaque here. A transport neither decodes nor re-encodes them, so that fields it does not
 * know and private bytes survive every hop.
 *
 * Source: Terraform plugin protocol 5 and 6 (`tfplugin5.Provider`, `tfplugin6.Provider`).
 */
export interface PluginTransport extends AsyncDisposable {
  /** Major version of the protocol whose messages travel. */
  readonly protocol: 5 | 6;

  /**
   * One request, one reply.
   *
   * @param method name of the method in the service, as the protocol spells it (`ApplyResourceChange`)
   * @param request the encoded request message
   * @returns the encoded response message
   * @throws TfpluginError; an `outcome` of `"not-applied"` says that the call provably did not begin
   */
  unary(method: string, request: Uint8Array, call: TransportCall): Promise<Uint8Array>;

  /**
   * One request, many replies; absent where the transport has no streams. Ending the iteration early
   * cancels the call.
   */
  readonly stream?: (
    method: string,
    request: Uint8Array,
    call: TransportCall,
  ) => AsyncIterable<Uint8Array>;

  /**
   * Many requests, one reply (state stores of protocol 6); absent where the transport has no such streams. The requests
   * are read as fast as they are taken.
   */
  readonly clientStream?: (
    method: string,
    requests: AsyncIterable<Uint8Array>,
    call: TransportCall,
  ) => Promise<Uint8Array>;

  /** Ends the connection and what serves it. Idempotent; calls under way are rejected. */
  close(): Promise<void>;
}

/** What goes with a call beside its message. */
export interface TransportCall {
  readonly signal?: AbortSignal;
  /** One run of a template. */
  readonly sessionId?: string;
  /** Of calls that plan or apply one state object. */
  readonly operation?: OperationIdentity;
}

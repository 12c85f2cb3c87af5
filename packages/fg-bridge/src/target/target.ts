import type { FunctionCallTimeouts } from "./http-exchange.ts";

/** How a call of a function goes. */
export interface InvokeCall {
  readonly timeouts: FunctionCallTimeouts;
  readonly signal?: AbortSignal;
  /** The call changes something: it gets a connection of its own. */
  readonly fresh: boolean;
  /** Further headers, for tracing. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Asks for a stream of events and gets its progress; the answer is the same. */
  readonly onProgress?: (text: string) => void;
}

/** Where a function is called. A target knows addresses and credentials; it does not look into envelopes. */
export interface FunctionTarget extends AsyncDisposable {
  /** Names the function in errors, logs and limits; holds no secrets. */
  readonly key: string;
  /** What one request may have, synchronous and asynchronous. */
  readonly maxRequestBytes: number;
  readonly maxAsyncRequestBytes: number;

  /**
   * Sends an envelope and returns the body of an answer with status 200.
   *
   * @throws FgBridgeError with the outcome that follows from how far the call came
   */
  invoke(envelope: Uint8Array, call: InvokeCall): Promise<Uint8Array>;

  /**
   * The same, as an asynchronous invocation that is polled to its end. Absent where the target has none;
   * then asynchronous methods are called like the others.
   */
  readonly invokeAsync?: (envelope: Uint8Array, call: InvokeCall) => Promise<Uint8Array>;

  /**
   * Fetches a large response from where the function left it. `url` is untrusted: a target allows its own
   * origin and what its operator listed.
   */
  readonly fetchReference?: (
    url: string,
    call: InvokeCall & { readonly maxBytes: number },
  ) => Promise<Uint8Array>;

  close(): Promise<void>;
}

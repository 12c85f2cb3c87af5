import { createHash, randomBytes } from "node:crypto";
import { sleep } from "@stackwright/base/clock";
import { type PluginTransport, TfpluginError, type TransportCall } from "@stackwright/tfplugin";
import { type MethodFacts, methodByName } from "../envelope/methods.ts";
import type { RequestExtensions } from "../envelope/request.ts";
import type { EnvelopeResponse } from "../envelope/response.ts";
import { FgBridgeError, isFgBridgeError } from "../errors.ts";
import type { ResolvedCallerOptions } from "./caller-options.ts";
import { EnvelopeSender } from "./envelope-call.ts";
import type { TransportOptions } from "./function-caller.ts";
import type { FunctionState } from "./function-state.ts";
import { queryOperationOutcome } from "./operation-outcome.ts";

/** How long Stop and Shutdown may take: both are courtesies. */
const COURTESY_MS = 5000;

/** Failures that say that the function does not work, for its circuit breaker. */
const BREAKING = [
  "FG_UNREACHABLE",
  "FG_CONNECTION_LOST",
  "FG_TIMEOUT",
  "FG_FUNCTION_STATUS",
  "FG_RESPONSE_INVALID",
] as const;

const nothing = new Uint8Array();

/**
 * A provider behind a function, as a transport.
 *
 * The function has no memory between calls, so this side remembers: the last `Configure.Request` that went through
 * becomes `config_data` of the methods that need a configured provider. It is sent once by itself as well, so
 * that its diagnostics appear where they are expected.
 *
 * Source: seed 003 for the contract.
 */
export class FunctionTransport implements PluginTransport {
  readonly protocol = 5;
  readonly #target: TransportOptions["target"];
  readonly #sessionId: string;
  readonly #onProgress: TransportOptions["onProgress"];
  readonly #state: FunctionState;
  readonly #options: ResolvedCallerOptions;
  readonly #sender: EnvelopeSender;
  readonly #closing = new AbortController();
  #configuration: Uint8Array = nothing;
  #usedPool = false;
  #closed: Promise<void> | undefined;

  constructor(
    { target, sessionId, onProgress }: TransportOptions,
    state: FunctionState,
    options: ResolvedCallerOptions,
  ) {
    this.#target = target;
    this.#sessionId = sessionId ?? randomBytes(16).toString("hex");
    this.#onProgress = onProgress;
    this.#state = state;
    this.#options = options;
    this.#sender = new EnvelopeSender(target, state, options);
  }

  /**
   * @throws FgBridgeError, whose `outcome` says whether the call may have happened; `TfpluginError`
   * `TFPLUGIN_METHOD_UNIMPLEMENTED` for what the provider or the contract does not have
   */
  async unary(name: string, request: Uint8Array, call: TransportCall): Promise<Uint8Array> {
    const method = methodByName(name);
    if (method === undefined) throw unimplemented(name, this.#target.key);
    if (this.#closing.signal.aborted) throw this.#isClosed();
    if (name === "Stop" || name === "Shutdown") return this.#courtesy(method, request, call);
    const signals = [this.#closing.signal, ...(call.signal === undefined ? [] : [call.signal])];
    const signal = AbortSignal.any(signals);
    const session = call.sessionId ?? this.#sessionId;
    try {
      const response = await this.#state.limiter.run(session, signal, () =>
        this.#attempts(method, request, session, call, signal),
      );
      if (name === "Configure") this.#configuration = request.slice();
      return response;
    } catch (error) {
      call.signal?.throwIfAborted();
      const unknown = error instanceof FgBridgeError && error.status === "UNIMPLEMENTED";
      throw unknown ? unimplemented(name, this.#target.key, error) : error;
    }
  }

  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #close(): Promise<void> {
    this.#closing.abort(this.#isClosed());
    const shutdown = methodByName("Shutdown");
    // Only a process that was kept for this session has an end to be asked for.
    if (this.#usedPool && shutdown !== undefined) {
      await this.#courtesy(shutdown, nothing, {}).catch(() => undefined);
    }
  }

  #isClosed(): FgBridgeError {
    return new FgBridgeError("FG_CLOSED", "the transport is closed", {
      target: this.#target.key,
      outcome: "unknown",
    });
  }

  /** Sent once, with a short limit of time; the function may have no process that receives it. */
  async #courtesy(
    method: MethodFacts,
    request: Uint8Array,
    { sessionId = this.#sessionId, signal }: TransportCall,
  ): Promise<Uint8Array> {
    try {
      const { responseData } = await this.#sender.send({
        method,
        request: { requestData: request, sessionId, configData: nothing, extensions: {} },
        timeoutMs: COURTESY_MS,
        ...(signal === undefined ? {} : { signal }),
      });
      return responseData;
    } catch (error) {
      signal?.throwIfAborted();
      const code = error instanceof FgBridgeError ? error.code : "FG_FUNCTION_ERROR";
      this.#options.logger.debug(
        { target: this.#target.key, method: method.name, code },
        "courtesy call failed",
      );
      return nothing;
    }
  }

  /** Sends until there is an answer, or a failure that must not or need not be repeated. */
  async #attempts(
    method: MethodFacts,
    request: Uint8Array,
    session: string,
    call: TransportCall,
    signal: AbortSignal,
  ): Promise<Uint8Array> {
    const { retry } = this.#state;
    const { clock } = this.#options;
    retry.earn();
    for (let attempt = 0; ; attempt++) {
      try {
        const once = await this.#once(method, request, session, call, signal, attempt);
        return once.responseData;
      } catch (thrown) {
        signal.throwIfAborted();
        const error = FgBridgeError.from(thrown);
        const settled = await this.#settle(method, error, session, call, signal, attempt);
        if (settled instanceof Uint8Array) return settled;
        const pause = retry.next(method, settled, attempt);
        if (pause === undefined) throw settled;
        const data = { target: this.#target.key, method: method.name, code: settled.code, attempt };
        this.#options.logger.info(data, "call is repeated");
        await sleep(clock, pause, signal);
      }
    }
  }

  async #once(
    method: MethodFacts,
    request: Uint8Array,
    session: string,
    call: TransportCall,
    signal: AbortSignal,
    attempt: number,
  ): Promise<EnvelopeResponse> {
    const { breaker } = this.#state;
    await this.#pass(method, session, signal);
    const isSchema = method.name === "GetSchema";
    const known = isSchema ? this.#state.schema : undefined;
    try {
      const response = await this.#sender.send({
        method,
        request: {
          requestData: request,
          sessionId: session,
          configData: this.#configDataFor(method),
          extensions: {
            ...extensionsOf(call, attempt),
            ...(known === undefined ? {} : { schemaDigest: known.digest }),
          },
        },
        signal,
        ...(this.#onProgress === undefined ? {} : { onProgress: this.#onProgress }),
      });
      breaker.succeeded();
      this.#usedPool ||= this.#state.announced("pool");
      return isSchema ? this.#schemaOf(response) : response;
    } catch (error) {
      if (isFgBridgeError(error, ...BREAKING)) breaker.failed();
      else if (isFgBridgeError(error, "FG_FUNCTION_ERROR")) breaker.succeeded();
      else breaker.forgotten();
      throw error;
    }
  }

  /** Through the circuit breaker. A half-open one is tried with a call that changes nothing. */
  async #pass(method: MethodFacts, session: string, signal: AbortSignal): Promise<void> {
    const { breaker } = this.#state;
    const permit = breaker.enter();
    if (permit === "refused") {
      const text = "the function failed repeatedly, and is not called for the moment";
      throw new FgBridgeError("FG_BREAKER_OPEN", text, {
        method: method.name,
        target: this.#target.key,
      });
    }
    const probe = methodByName("GetSchema");
    if (permit === "go" || method.repeatable || probe === undefined) return;
    try {
      await this.#sender.send({
        method: probe,
        request: { requestData: nothing, sessionId: session, configData: nothing, extensions: {} },
        signal,
      });
    } catch (error) {
      breaker.failed();
      const text = "the function still fails, and is not called for the moment";
      throw new FgBridgeError("FG_BREAKER_OPEN", text, {
        method: method.name,
        target: this.#target.key,
        cause: error,
      });
    }
  }

  /**
   * What became of an operation whose outcome is open, as far as the function's journal knows: its response, an error that
   * proves that it was not begun, or the error as it was.
   */
  async #settle(
    method: MethodFacts,
    error: FgBridgeError,
    session: string,
    { operation }: TransportCall,
    signal: AbortSignal,
    attempt: number,
  ): Promise<Uint8Array | FgBridgeError> {
    const silent = this.#state.adapter !== undefined && !this.#state.announced("journal");
    const isOpen = !method.repeatable && error.outcome === "unknown";
    const isAnswer = error.code === "FG_FUNCTION_ERROR" || error.code === "FG_CLOSED";
    if (!isOpen || isAnswer || silent || operation === undefined || this.#options.strict)
      return error;
    return queryOperationOutcome({
      sender: this.#sender,
      method,
      error,
      sessionId: session,
      operation,
      attempt,
      signal,
      clock: this.#options.clock,
      timeoutMs: this.#options.resolveTimeoutMs,
      logger: this.#options.logger,
    });
  }

  #configDataFor(method: MethodFacts): Uint8Array {
    const all = this.#options.configData === "all" && method.name !== "Configure";
    return method.configured || all ? this.#configuration : nothing;
  }

  /** The schema of the answer, or the one that is known already. */
  #schemaOf(response: EnvelopeResponse): EnvelopeResponse {
    const { schemaDigest: digest, responseData: bytes } = response;
    if (digest === undefined) return response;
    const known = this.#state.schema;
    if (bytes.length === 0 && known?.digest === digest) {
      return { ...response, responseData: known.bytes };
    }
    if (digest !== schemaDigestOf(bytes)) {
      const text = "the function's schema does not have the digest that it says";
      throw new FgBridgeError("FG_RESPONSE_INVALID", text, { target: this.#target.key });
    }
    this.#state.schema = { digest, bytes };
    return response;
  }
}

/** Digest under which a schema is announced. */
export function schemaDigestOf(bytes: Uint8Array): string {
  return `sha256:${createHash("sha256").update(bytes).digest("hex")}`;
}

function extensionsOf({ operation }: TransportCall, attempt: number): RequestExtensions {
  if (operation === undefined) return {};
  return { callId: operation.operationId, epoch: operation.epoch, attempt };
}

function unimplemented(method: string, target: string, cause?: unknown): TfpluginError {
  return new TfpluginError(
    "TFPLUGIN_METHOD_UNIMPLEMENTED",
    cause === undefined
      ? `the function contract does not carry ${method}`
      : `the provider behind the function does not have ${method}`,
    { outcome: "not-applied", provider: target, subject: method, cause },
  );
}

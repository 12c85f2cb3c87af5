import { schemaDigestOf } from "../caller/function-transport.ts";
import { describePayload } from "../describe-payload.ts";
import { formatGrpcError, sanitizeRemoteText } from "../envelope/grpc-text.ts";
import { type MethodFacts, methodByPath, OUTCOME_METHOD } from "../envelope/methods.ts";
import { type EnvelopeRequest, isExtendedRequest, parseRequest } from "../envelope/request.ts";
import { contractResponse, type EnvelopeResponse, encodeResponse } from "../envelope/response.ts";
import { FG_BRIDGE_ERRORS, FgBridgeError } from "../errors.ts";
import {
  type FunctionOptions,
  type ResolvedFunctionOptions,
  resolveFunctionOptions,
} from "./function-options.ts";
import { JournaledApply } from "./journaled-apply.ts";
import { ProviderCalls } from "./provider-calls.ts";
import { redact } from "./redact.ts";

/** Who sent a request, and how it is to be answered. */
export interface HandleOptions {
  /** Authenticated name of the caller. @default "" */
  readonly caller?: string;
  /** The caller has gone. */
  readonly signal?: AbortSignal;
  /** What the platform allows this invocation, in milliseconds. */
  readonly platformTimeoutMs?: number;
  /** Receives the progress of the request, where the caller asked for it. */
  readonly onProgress?: (text: string) => void;
}

/** Status 200 for everything that the contract calls an answer. */
export interface HandleReply {
  readonly status: number;
  readonly body: Uint8Array;
}

const nothing = new Uint8Array();

/**
 * The function side of the contract without its HTTP server: envelope in, envelope out.
 *
 * Errors of a provider are answers with status 200 and an `error`, in the form in which Go prints a gRPC status. An
 * envelope that is refused gets 400 or 413, and a request that there is no room for gets 429: those were not begun, and
 * say so in `outcome`.
 *
 * A request without extensions is answered with `response_data` and `error` alone, with every status.
 *
 * Source: seed 003, rules 1 to 3.
 */
export class FunctionHandler implements AsyncDisposable {
  readonly #options: ResolvedFunctionOptions;
  readonly #calls: ProviderCalls;
  readonly #journaled: JournaledApply | undefined;
  readonly #closing = new AbortController();
  readonly #running = new Set<Promise<unknown>>();
  #schema: { readonly digest: string; readonly bytes: Uint8Array } | undefined;

  /** @throws FgBridgeError `FG_OPTIONS_INVALID` */
  constructor(options: FunctionOptions) {
    this.#options = resolveFunctionOptions(options);
    this.#calls = new ProviderCalls(this.#options);
    const { journal, logger } = this.#options;
    if (journal !== undefined) {
      this.#journaled = new JournaledApply(journal, (error) => {
        const reason = error instanceof Error ? error.message : String(error);
        logger.error({ reason }, "the journal failed");
      });
    }
  }

  /** Never rejects. */
  async handle(body: Uint8Array, options: HandleOptions = {}): Promise<HandleReply> {
    const work = this.#handle(body, options);
    this.#running.add(work);
    try {
      return await work;
    } finally {
      this.#running.delete(work);
    }
  }

  /** Ends what runs, with an answer each. */
  async close(): Promise<void> {
    this.#closing.abort(
      new FgBridgeError("FG_CLOSED", "the function is being stopped", { outcome: "unknown" }),
    );
    await this.#calls[Symbol.asyncDispose]();
    await Promise.all(this.#running);
    await this.#options.journal?.[Symbol.asyncDispose]();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #handle(body: Uint8Array, options: HandleOptions): Promise<HandleReply> {
    const { limits, logger, onAudit } = this.#options;
    let request: EnvelopeRequest;
    try {
      request = parseRequest(body, limits);
    } catch (thrown) {
      const error = FgBridgeError.from(thrown);
      const { caller } = options;
      onAudit({
        kind: "envelope-refused",
        code: error.code,
        reason: error.message,
        ...(caller === undefined ? {} : { caller }),
      });
      return this.#refusal(error, isExtendedRequest(body, limits));
    }
    const isExtended = Object.keys(request.extensions).length > 0;
    const data = { method: request.methodName, request: describePayload(request.requestData) };
    try {
      const response = await this.#answer(request, options);
      logger.debug(
        { ...data, response: describePayload(response.responseData) },
        "request answered",
      );
      return await this.#encode(response, request, isExtended);
    } catch (thrown) {
      const error = FgBridgeError.from(thrown);
      logger.info({ ...data, code: error.code, outcome: error.outcome }, "request failed");
      if (error.code === "FG_LIMIT_EXCEEDED") return this.#refusal(error, isExtended);
      return this.#encode(this.#failure(error, request), request, isExtended);
    }
  }

  async #answer(request: EnvelopeRequest, options: HandleOptions): Promise<EnvelopeResponse> {
    const { caller = "" } = options;
    if (request.methodName === OUTCOME_METHOD && this.#journaled !== undefined) {
      return this.#journaled.outcome(request, caller);
    }
    const method = methodByPath(request.methodName);
    if (method === undefined) {
      throw new FgBridgeError("FG_METHOD_REFUSED", "the contract has no such method");
    }
    switch (method.name) {
      case "Shutdown":
        // Processes end with their request; only one that waits in a pool has something to end.
        this.#calls.release(caller, request.sessionId);
        return { responseData: nothing, error: "" };
      case "Stop":
        await this.#calls.stop(caller, request.sessionId, this.#closing.signal);
        return { responseData: nothing, error: "" };
      case "GetSchema":
        return this.#getSchema(method, request, options);
      case "ApplyResourceChange":
        return this.#apply(method, request, options);
      default:
        return { responseData: await this.#call(method, request, options), error: "" };
    }
  }

  /** The program cannot change under a running function, so neither can its schema. */
  async #getSchema(
    method: MethodFacts,
    request: EnvelopeRequest,
    options: HandleOptions,
  ): Promise<EnvelopeResponse> {
    const { accept, schemaDigest } = request.extensions;
    if (accept?.includes("schema-digest") !== true) {
      return { responseData: await this.#call(method, request, options), error: "" };
    }
    if (this.#schema === undefined) {
      const bytes = await this.#call(method, request, options);
      this.#schema = { bytes, digest: schemaDigestOf(bytes) };
    }
    const { digest, bytes } = this.#schema;
    const responseData = schemaDigest === digest ? nothing : bytes;
    return { responseData, error: "", schemaDigest: digest };
  }

  async #apply(
    method: MethodFacts,
    request: EnvelopeRequest,
    options: HandleOptions,
  ): Promise<EnvelopeResponse> {
    const { callId } = request.extensions;
    if (this.#journaled === undefined || callId === undefined) {
      return { responseData: await this.#call(method, request, options), error: "" };
    }
    const { caller = "", signal: _gone, ...rest } = options;
    const untilMs = Date.now() + this.#timeoutOf(request, options);
    try {
      // Runs to its end even if no caller waits for it: the result can be fetched later.
      return await this.#journaled.run(request, caller, untilMs, (onBegin) =>
        this.#call(method, request, rest, onBegin),
      );
    } catch (error) {
      if (error instanceof FgBridgeError && error.code.startsWith("FG_OPERATION")) {
        const { code, message: reason } = error;
        this.#options.onAudit({ kind: "operation-refused", code, reason, subject: callId, caller });
      }
      throw error;
    }
  }

  /** One call under the deadline. */
  async #call(
    method: MethodFacts,
    request: EnvelopeRequest,
    options: HandleOptions,
    onBegin: () => void = () => undefined,
  ): Promise<Uint8Array> {
    const { clock } = this.#options;
    const timeoutMs = this.#timeoutOf(request, options);
    const late = new AbortController();
    let begun = false;
    using _timer = clock.after(timeoutMs, () => {
      const text = `${method.name} did not end within ${timeoutMs} ms`;
      late.abort(
        new FgBridgeError("FG_TIMEOUT", text, { outcome: begun ? "unknown" : "not-applied" }),
      );
    });
    const { signal, caller = "", onProgress = () => undefined } = options;
    const signals = [late.signal, this.#closing.signal, ...(signal === undefined ? [] : [signal])];
    return await this.#calls.call({
      caller,
      method,
      request,
      signal: AbortSignal.any(signals),
      onProgress,
      onBegin: () => {
        begun = true;
        onBegin();
      },
    });
  }

  #timeoutOf(request: EnvelopeRequest, { platformTimeoutMs }: HandleOptions): number {
    const { timeoutMs, marginMs } = this.#options;
    const asked = request.extensions.deadlineMs ?? Infinity;
    const allowed = Math.min(timeoutMs, asked, platformTimeoutMs ?? Infinity);
    return Math.max(allowed - marginMs, allowed / 2);
  }

  #failure(error: FgBridgeError, request: EnvelopeRequest): EnvelopeResponse {
    const text = sanitizeRemoteText(redact(error.message, request.configData));
    return {
      responseData: nothing,
      error: formatGrpcError(error.status, text),
      outcome: error.code === "FG_OPERATION_RUNNING" ? "running" : error.outcome,
    };
  }

  #refusal(error: FgBridgeError, isExtended: boolean): HandleReply {
    const response = this.#introduce(
      {
        responseData: nothing,
        error: formatGrpcError(error.status, error.message),
        outcome: error.outcome,
      },
      isExtended,
    );
    return { status: FG_BRIDGE_ERRORS[error.code].http, body: encodeResponse(response) };
  }

  /** With what this function can do beyond the contract, where the caller knows of such things. */
  #introduce(response: EnvelopeResponse, isExtended: boolean): EnvelopeResponse {
    return isExtended
      ? { ...response, adapter: this.#options.adapter }
      : contractResponse(response);
  }

  /** As small as the caller understands, if it has to be. */
  async #encode(
    response: EnvelopeResponse,
    request: EnvelopeRequest,
    isExtended: boolean,
  ): Promise<HandleReply> {
    const { maxResponseBytes, gzip, results } = this.#options;
    const { accept = [] } = request.extensions;
    const full = this.#introduce(response, isExtended);
    const fits = (body: Uint8Array) => body.length <= maxResponseBytes;
    const plain = encodeResponse(full);
    if (fits(plain)) return { status: 200, body: plain };
    if (gzip && accept.includes("gzip")) {
      const body = encodeResponse(full, "gzip");
      if (fits(body)) return { status: 200, body };
    }
    if (results !== undefined && accept.includes("ref")) {
      const reference = await results.put(response.responseData);
      return { status: 200, body: encodeResponse({ ...full, responseData: nothing, reference }) };
    }
    const error = new FgBridgeError(
      "FG_RESPONSE_TOO_LARGE",
      `the answer has ${plain.length} bytes, ${maxResponseBytes} are allowed`,
    );
    const failure = this.#introduce(this.#failure(error, request), isExtended);
    return { status: 200, body: encodeResponse(failure) };
  }
}

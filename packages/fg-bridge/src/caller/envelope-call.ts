import { createHash } from "node:crypto";
import { describePayload } from "../describe-payload.ts";
import type { Feature } from "../envelope/extensions.ts";
import { parseGrpcError, sanitizeRemoteText } from "../envelope/grpc-text.ts";
import type { MethodFacts } from "../envelope/methods.ts";
import { type EnvelopeRequest, encodeRequest } from "../envelope/request.ts";
import { type EnvelopeResponse, parseResponse } from "../envelope/response.ts";
import { FgBridgeError } from "../errors.ts";
import type { FunctionTarget, InvokeCall } from "../target/target.ts";
import type { ResolvedCallerOptions } from "./caller-options.ts";
import type { FunctionState } from "./function-state.ts";

/** One envelope to be sent. */
interface EnvelopeCall {
  readonly method: Pick<MethodFacts, "name" | "path" | "asynchronous" | "repeatable">;
  readonly request: Omit<EnvelopeRequest, "methodName">;
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
  readonly onProgress?: (text: string) => void;
  /** An answer with an error text is returned too. */
  readonly keepError?: boolean;
}

/** Sends single envelopes to one function, and learns from its answers what it can do. */
export class EnvelopeSender {
  readonly #target: FunctionTarget;
  readonly #state: FunctionState;
  readonly #options: ResolvedCallerOptions;

  constructor(target: FunctionTarget, state: FunctionState, options: ResolvedCallerOptions) {
    this.#target = target;
    this.#state = state;
    this.#options = options;
  }

  /**
   * Sends once. Returns an answer without an error text.
   *
   * @throws FgBridgeError `FG_FUNCTION_ERROR` with the status from the error text, and what the target throws
   */
  async send(call: EnvelopeCall): Promise<EnvelopeResponse> {
    const { method, signal } = call;
    const { contract, timeouts, asyncTimeoutMs, logger, clock } = this.#options;
    const { invokeAsync } = this.#target;
    const asynchronous = contract === "v2" && method.asynchronous && invokeAsync !== undefined;
    const totalMs = call.timeoutMs ?? (asynchronous ? asyncTimeoutMs : timeouts.totalMs);
    const envelope = this.#encode(call, asynchronous, totalMs);
    const streamed = call.onProgress !== undefined && this.#state.announced("progress");
    const invoke: InvokeCall = {
      timeouts: { ...timeouts, firstByteMs: Math.min(timeouts.firstByteMs, totalMs), totalMs },
      fresh: !method.repeatable,
      ...(signal === undefined ? {} : { signal }),
      ...(streamed ? { onProgress: call.onProgress } : {}),
    };
    const started = clock.monotonicMs();
    const body = asynchronous
      ? await invokeAsync(envelope, invoke)
      : await this.#target.invoke(envelope, invoke);
    const data = {
      target: this.#target.key,
      method: method.name,
      ms: Math.round(clock.monotonicMs() - started),
      request: describePayload(envelope),
      response: describePayload(body),
    };
    logger.debug(data, "function called");
    return this.#read(body, call, invoke);
  }

  #encode(call: EnvelopeCall, asynchronous: boolean, totalMs: number): Uint8Array {
    const { method, request } = call;
    const { accept, strict } = this.#options;
    const envelope = {
      ...request,
      methodName: method.path,
      extensions: strict
        ? {}
        : {
            ...request.extensions,
            deadlineMs: Math.round(totalMs),
            ...(accept.length === 0 ? {} : { accept }),
          },
    };
    const { maxRequestBytes, maxAsyncRequestBytes, key } = this.#target;
    const limitBytes = asynchronous ? maxAsyncRequestBytes : maxRequestBytes;
    const plain = encodeRequest(envelope);
    if (plain.length <= limitBytes) return plain;
    const compressed = this.#accepts("gzip") ? encodeRequest(envelope, "gzip") : plain;
    if (compressed.length <= limitBytes) return compressed;
    throw new FgBridgeError(
      "FG_REQUEST_TOO_LARGE",
      `${method.name}: the envelope has ${compressed.length} bytes, ` +
        `${asynchronous ? "an asynchronous" : "a"} request of this function may have ${limitBytes}`,
      { method: method.name, target: key, limitBytes, actualBytes: compressed.length },
    );
  }

  #accepts(feature: Feature): boolean {
    return this.#options.accept.includes(feature) && this.#state.announced(feature);
  }

  async #read(body: Uint8Array, call: EnvelopeCall, invoke: InvokeCall): Promise<EnvelopeResponse> {
    const { name } = call.method;
    const { maxPayloadBytes } = this.#options;
    const limits = { maxBytes: body.length, maxPayloadBytes };
    const response = parseResponse(body, limits);
    this.#state.adapter = response.adapter ?? null;
    if (response.error !== "" && call.keepError !== true) {
      const { status, description } = parseGrpcError(response.error);
      const applied = response.outcome === "not-applied" || status === "UNIMPLEMENTED";
      // Another delivery of the same operation is in progress: no answer yet, and not the end.
      const code = response.outcome === "running" ? "FG_OPERATION_RUNNING" : "FG_FUNCTION_ERROR";
      throw new FgBridgeError(code, `${name}: ${sanitizeRemoteText(description)}`, {
        status,
        method: name,
        target: this.#target.key,
        outcome: applied ? "not-applied" : "unknown",
      });
    }
    if (response.reference === undefined) return response;
    return { ...response, responseData: await this.#follow(response.reference, name, invoke) };
  }

  async #follow(
    reference: NonNullable<EnvelopeResponse["reference"]>,
    method: string,
    invoke: InvokeCall,
  ): Promise<Uint8Array> {
    const { fetchReference, key } = this.#target;
    const { maxPayloadBytes, accept } = this.#options;
    const problem =
      fetchReference === undefined || !accept.includes("ref")
        ? "the function left its response elsewhere, which was not asked for"
        : reference.sizeBytes > maxPayloadBytes
          ? `the response has ${reference.sizeBytes} bytes, ${maxPayloadBytes} are allowed`
          : undefined;
    if (fetchReference === undefined || problem !== undefined) {
      throw new FgBridgeError("FG_RESPONSE_INVALID", `${method}: ${problem}`, {
        method,
        target: key,
      });
    }
    const { onProgress: _, ...plain } = invoke;
    const bytes = await fetchReference(reference.url, {
      ...plain,
      fresh: false,
      maxBytes: reference.sizeBytes,
    });
    const sha256 = createHash("sha256").update(bytes).digest("hex");
    if (bytes.length !== reference.sizeBytes || sha256 !== reference.sha256) {
      const text = `${method}: what lies at the reference is not what the function promised`;
      throw new FgBridgeError("FG_RESPONSE_INVALID", text, { method, target: key });
    }
    return bytes;
  }
}

import { createHash, randomUUID } from "node:crypto";
import { type SigningCredentials, signRequest } from "@stackwright/request-signing";
import type { AuditSink } from "../audit.ts";
import { FgBridgeError } from "../errors.ts";
import { EventStreamReader } from "./event-stream.ts";
import { failedStatus } from "./failed-status.ts";
import type { ExchangeResponse, FunctionHttpClient } from "./http-exchange.ts";
import type { FunctionTarget, InvokeCall } from "./target.ts";

/** How a caller shows who it is to a function at a URL. */
export type UrlCredentials =
  | { readonly kind: "signature"; readonly key: SigningCredentials }
  | { readonly kind: "bearer"; readonly token: string };

export interface UrlTargetOptions {
  /** Origin of the function; the path is always `/provider`. `https`, or `http` to this machine. */
  readonly url: string;
  readonly credentials?: UrlCredentials;
  /** What the credentials are, in words and without secrets, for messages of a refusal. */
  readonly credentialsName?: string | undefined;
  /** @default 6 MiB */
  readonly maxRequestBytes?: number;
  /** @default 6 MiB for envelopes */
  readonly maxResponseBytes?: number;
  /** Origins besides the function's own from which large responses may be fetched. @default none */
  readonly referenceOrigins?: readonly string[];
  readonly onAudit?: AuditSink;
}

const MIB = 1024 * 1024;
/** Bytes that progress and heartbeats may have in addition to the answer. */
const STREAM_BYTES = MIB;

function originOf(text: string): URL {
  const url = URL.parse(text);
  if (url === null) throw new FgBridgeError("FG_OPTIONS_INVALID", "a target's url is not a URL");
  if (url.username !== "" || url.password !== "") {
    throw new FgBridgeError(
      "FG_OPTIONS_INVALID",
      "a target's url must not hold a user or password",
    );
  }
  const path = url.pathname.replace(/\/$/, "");
  if (!/^https?:$/.test(url.protocol) || url.search !== "" || url.hash !== "") {
    throw new FgBridgeError(
      "FG_OPTIONS_INVALID",
      `${url.host}: a target's url is an http(s) origin`,
    );
  }
  if (path !== "" && path !== "/provider") {
    throw new FgBridgeError("FG_OPTIONS_INVALID", `${url.host}: the path of a target is /provider`);
  }
  return new URL("/provider", url.origin);
}

/**
 * A function at a URL, for self-hosted ones. The first contract as it stands: `POST /provider`, status 200 and
 * nothing else is success.
 *
 * Source: seed 003, rules 1 and 3.
 */
export class UrlTarget implements FunctionTarget {
  readonly key: string;
  readonly maxRequestBytes: number;
  readonly maxAsyncRequestBytes: number;
  readonly #url: URL;
  readonly #options: UrlTargetOptions;
  readonly #client: FunctionHttpClient;
  readonly #referenceOrigins: ReadonlySet<string>;

  /** @throws FgBridgeError `FG_OPTIONS_INVALID` */
  constructor(client: FunctionHttpClient, options: UrlTargetOptions) {
    this.#client = client;
    this.#options = options;
    this.#url = originOf(options.url);
    this.key = this.#url.origin;
    this.maxRequestBytes = options.maxRequestBytes ?? 6 * MIB;
    this.maxAsyncRequestBytes = this.maxRequestBytes;
    this.#referenceOrigins = new Set([
      this.#url.origin,
      ...(options.referenceOrigins ?? []).map((origin) => originOf(origin).origin),
    ]);
  }

  async invoke(envelope: Uint8Array, call: InvokeCall): Promise<Uint8Array> {
    const { onProgress } = call;
    const reader = onProgress === undefined ? undefined : new EventStreamReader(onProgress);
    let broken = false;
    const response = await this.#client.exchange({
      url: this.#url,
      method: "POST",
      headers: this.#headers(envelope, call),
      body: envelope,
      timeouts: call.timeouts,
      // Events around an answer are not part of it.
      maxResponseBytes:
        (this.#options.maxResponseBytes ?? 6 * MIB) + (reader === undefined ? 0 : STREAM_BYTES),
      fresh: call.fresh,
      ...(call.signal === undefined ? {} : { signal: call.signal }),
      ...(reader === undefined
        ? {}
        : {
            onData: (chunk) => {
              // An answer that is not a stream is no concern of the reader.
              try {
                reader.push(chunk);
              } catch {
                broken = true;
              }
            },
          }),
    });
    if (response.status !== 200) throw this.#failed(response);
    const type = response.headers["content-type"] ?? "";
    if (!type.startsWith("text/event-stream")) return response.body;
    if (broken || reader?.result === undefined) {
      throw new FgBridgeError(
        "FG_RESPONSE_INVALID",
        "the function's stream ended without a result",
        {
          target: this.key,
        },
      );
    }
    return Buffer.from(reader.result);
  }

  readonly fetchReference = async (
    text: string,
    call: InvokeCall & { readonly maxBytes: number },
  ): Promise<Uint8Array> => {
    const url = URL.parse(text, this.#url.href);
    const plain = url !== null && url.username === "" && url.password === "";
    if (!plain || !this.#referenceOrigins.has(url.origin)) {
      const reason = "the function named a place for its response that is not allowed";
      this.#options.onAudit?.({
        kind: "target-refused",
        code: "FG_ADDRESS_REFUSED",
        reason,
        subject: url?.host ?? this.key,
      });
      throw new FgBridgeError("FG_ADDRESS_REFUSED", reason, {
        target: this.key,
        outcome: "unknown",
      });
    }
    const response = await this.#client.exchange({
      url,
      method: "GET",
      headers: {},
      timeouts: call.timeouts,
      maxResponseBytes: call.maxBytes,
      ...(call.signal === undefined ? {} : { signal: call.signal }),
    });
    if (response.status !== 200) throw this.#failed(response);
    return response.body;
  };

  /** The connections belong to the client. */
  async close(): Promise<void> {}

  async [Symbol.asyncDispose](): Promise<void> {}

  #headers(envelope: Uint8Array, call: InvokeCall): Record<string, string> {
    const { credentials } = this.#options;
    const headers: Record<string, string> = {
      "content-type": "application/json",
      accept:
        call.onProgress === undefined ? "application/json" : "text/event-stream, application/json",
      "content-length": String(envelope.length),
      // Equal calls within one second would otherwise have equal signatures, and look like a replay.
      "x-request-id": randomUUID(),
      ...call.headers,
    };
    if (credentials === undefined) return headers;
    if (credentials.kind === "bearer") {
      return { ...headers, authorization: `Bearer ${credentials.token}` };
    }
    const signed = signRequest(
      {
        method: "POST",
        target: this.#url.pathname,
        headers: [...Object.entries(headers), ["host", this.#url.host]],
        body: { sha256: createHash("sha256").update(envelope).digest("hex") },
      },
      credentials.key,
    );
    return Object.fromEntries(signed);
  }

  #failed(response: ExchangeResponse): FgBridgeError {
    const error = failedStatus(response, this.key, this.#options.credentialsName);
    if (error.code === "FG_REDIRECT_REFUSED") {
      this.#options.onAudit?.({
        kind: "redirect-refused",
        code: error.code,
        reason: error.message,
        subject: this.key,
      });
    }
    return error;
  }
}

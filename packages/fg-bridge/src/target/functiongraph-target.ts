import { randomUUID } from "node:crypto";
import { type Clock, systemClock } from "@stackwright/base/clock";
import { isJsonObject, readJsonObject } from "@stackwright/base/json";
import type { FunctionUrn } from "@stackwright/provider-source";
import { type SigningCredentials, signRequest } from "@stackwright/request-signing";
import { type JsonMembers } from "../envelope/json-problem.ts";
import { FgBridgeError, isFgBridgeError } from "../errors.ts";
import { type AsyncResultReader, pollResult } from "./async-results.ts";
import { failedStatus } from "./failed-status.ts";
import { decodeInvocation, encodeGatewayEvent, type GatewayReply } from "./gateway-event.ts";
import type {
  ExchangeResponse,
  FunctionCallTimeouts,
  FunctionHttpClient,
} from "./http-exchange.ts";
import type { FunctionTarget, InvokeCall } from "./target.ts";

/** The invoke API of one region, as its operator entered it. */
export interface FunctionGraphEndpoint {
  /** `https://functiongraph.<region>.example.com`; plain `http` to this machine alone. */
  readonly endpoint: string;
  readonly credentials: SigningCredentials;
  /** What the credentials are, in words and without secrets, for messages of a refusal. */
  readonly credentialsName?: string | undefined;
  /**
   * `http`: requests travel as gateway events. `event`: the envelope itself is the event.
   *
   * @default "http"
   */
  readonly functionKind?: "http" | "event";
  /** Where the results of asynchronous invocations are found. Without it there are none. */
  readonly asyncResults?: AsyncResultReader;
  /** Whether the platform keeps the states of asynchronous invocations. @default true */
  readonly statusPersistence?: boolean;
  /** First and longest pause between two polls, in milliseconds. @default 500 and 5000 */
  readonly pollMs?: readonly [first: number, longest: number];
}

const SYNC_LIMIT = 6 * 1024 * 1024;
const ASYNC_LIMIT = 256 * 1024;

/** For the small requests around an asynchronous invocation. */
const SIDE_TIMEOUTS: FunctionCallTimeouts = {
  connectMs: 3000,
  firstByteMs: 10_000,
  totalMs: 15_000,
};

/**
 * A function behind FunctionGraph's invoke API: signed requests, `invocations` and `invocations-async`, the
 * response wrapper, the list of asynchronous invocations and their cancellation.
 *
 * Source: FunctionGraph API reference (invoking a function synchronously and asynchronously, querying and
 * stopping asynchronous invocations).
 */
export class FunctionGraphTarget implements FunctionTarget {
  readonly key: string;
  readonly maxRequestBytes: number;
  readonly maxAsyncRequestBytes: number;
  readonly invokeAsync?: (envelope: Uint8Array, call: InvokeCall) => Promise<Uint8Array>;
  readonly #urn: FunctionUrn;
  readonly #endpoint: FunctionGraphEndpoint;
  readonly #client: FunctionHttpClient;
  readonly #clock: Clock;
  readonly #origin: URL;

  /** @throws FgBridgeError `FG_OPTIONS_INVALID` */
  constructor(
    client: FunctionHttpClient,
    urn: FunctionUrn,
    endpoint: FunctionGraphEndpoint,
    clock: Clock = systemClock,
  ) {
    const origin = URL.parse(endpoint.endpoint);
    if (origin === null || !/^https?:$/.test(origin.protocol) || origin.username !== "") {
      throw new FgBridgeError("FG_OPTIONS_INVALID", `no URL of an endpoint for ${urn.region}`);
    }
    this.#client = client;
    this.#urn = urn;
    this.#endpoint = endpoint;
    this.#origin = origin;
    this.#clock = clock;
    this.key = urn.text;
    // The body of a gateway event is base64, and so grows by a third.
    const share = this.#isEvent ? 1 : 3 / 4;
    this.maxRequestBytes = Math.floor(SYNC_LIMIT * share) - 1024;
    this.maxAsyncRequestBytes = Math.floor(ASYNC_LIMIT * share) - 1024;
    const { asyncResults } = endpoint;
    if (asyncResults !== undefined) {
      this.invokeAsync = (envelope, call) => this.#invokeAsync(envelope, call, asyncResults);
    }
  }

  async invoke(envelope: Uint8Array, call: InvokeCall): Promise<Uint8Array> {
    const response = await this.#send("POST", "/invocations", call.timeouts, {
      body: this.#event(envelope),
      headers: { "x-cff-request-version": "v1" },
      fresh: call.fresh,
      ...(call.signal === undefined ? {} : { signal: call.signal }),
    });
    if (response.status !== 200) throw this.#refused(response);
    const code = String(response.headers["x-func-err-code"] ?? "0");
    const failed = String(response.headers["x-is-func-err"] ?? "false") === "true";
    if (failed || (code !== "0" && code !== "")) {
      throw new FgBridgeError(
        "FG_FUNCTION_STATUS",
        `the function failed with code ${code.slice(0, 40)}`,
        {
          target: this.key,
          httpStatus: 200,
          retryable: false,
        },
      );
    }
    return this.#answer(decodeInvocation(response.body), response);
  }

  async close(): Promise<void> {}

  async [Symbol.asyncDispose](): Promise<void> {}

  get #isEvent(): boolean {
    return this.#endpoint.functionKind === "event";
  }

  #event(envelope: Uint8Array): Uint8Array {
    return this.#isEvent ? envelope : encodeGatewayEvent(envelope);
  }

  /** What the platform itself says, which sees the credentials; the function behind it does not. */
  #refused(response: ExchangeResponse): FgBridgeError {
    return failedStatus(response, this.key, this.#endpoint.credentialsName);
  }

  #answer(reply: GatewayReply, response: ExchangeResponse): Uint8Array {
    if (reply.status === 200) return reply.body;
    throw failedStatus({ ...response, status: reply.status, body: reply.body }, this.key);
  }

  async #invokeAsync(
    envelope: Uint8Array,
    call: InvokeCall,
    results: AsyncResultReader,
  ): Promise<Uint8Array> {
    const accepted = await this.#send("POST", "/invocations-async", SIDE_TIMEOUTS, {
      body: this.#event(envelope),
      fresh: true,
      ...(call.signal === undefined ? {} : { signal: call.signal }),
    });
    if (accepted.status !== 202) throw this.#refused(accepted);
    const requestId = readMember(accepted.body)?.request_id;
    if (typeof requestId !== "string" || !/^[A-Za-z0-9-]{1,64}$/.test(requestId)) {
      throw new FgBridgeError("FG_RESPONSE_INVALID", "the platform gave no request_id", {
        target: this.key,
      });
    }
    const deadline = this.#clock.monotonicMs() + call.timeouts.totalMs;
    try {
      const stored = await pollResult({
        requestId,
        results,
        clock: this.#clock,
        deadline,
        pauses: this.#endpoint.pollMs ?? [500, 5000],
        target: this.key,
        ...(call.signal === undefined ? {} : { signal: call.signal }),
        ...(this.#endpoint.statusPersistence === false
          ? {}
          : { status: () => this.#status(requestId, call.signal) }),
      });
      return this.#answer(stored, accepted);
    } catch (error) {
      // A caller that stops waiting also asks the platform to stop; the result stays unknown.
      if (call.signal?.aborted === true || isFgBridgeError(error, "FG_TIMEOUT")) {
        await this.#cancel(requestId).catch(() => undefined);
      }
      throw error;
    }
  }

  async #status(
    requestId: string,
    signal: AbortSignal | undefined,
  ): Promise<{ readonly state: string; readonly text: string } | undefined> {
    const path = `/async-invocations?limit=1&request_id=${encodeURIComponent(requestId)}`;
    const options = signal === undefined ? {} : { signal };
    const listed = await this.#send("GET", path, SIDE_TIMEOUTS, options);
    if (listed.status !== 200) return undefined;
    const { invocations } = readMember(listed.body) ?? {};
    const found = (Array.isArray(invocations) ? invocations : []).find(
      (one) => isJsonObject(one) && one.request_id === requestId,
    );
    if (!isJsonObject(found)) return undefined;
    const { status, error_message: text } = found;
    return {
      state: typeof status === "string" ? status : "",
      text: typeof text === "string" ? text : "",
    };
  }

  async #cancel(requestId: string): Promise<void> {
    await this.#send("POST", "/cancel", SIDE_TIMEOUTS, {
      body: Buffer.from(JSON.stringify({ request_id: requestId, type: "force" })),
    });
  }

  #send(
    method: "GET" | "POST",
    path: string,
    timeouts: FunctionCallTimeouts,
    options: {
      readonly body?: Uint8Array;
      readonly headers?: Readonly<Record<string, string>>;
      readonly fresh?: boolean;
      readonly signal?: AbortSignal;
    },
  ): Promise<ExchangeResponse> {
    const { project, text } = this.#urn;
    const base = `/v2/${encodeURIComponent(project)}/fgs/functions/${encodeURIComponent(text)}`;
    const url = new URL(`${base}${path}`, this.#origin.origin);
    const { body = new Uint8Array(), headers, fresh, signal } = options;
    const signed = signRequest(
      {
        method,
        target: `${url.pathname}${url.search}`,
        headers: [
          ["host", url.host],
          ["content-type", "application/json"],
          // Equal calls within one second would otherwise have equal signatures.
          ["x-client-request-id", randomUUID()],
          ...Object.entries(headers ?? {}),
        ],
        body,
      },
      this.#endpoint.credentials,
    );
    return this.#client.exchange({
      url,
      method,
      headers: Object.fromEntries(signed),
      timeouts,
      // The wrapper around an answer of full size: base64 in JSON in JSON.
      maxResponseBytes: 2 * SYNC_LIMIT,
      ...(method === "POST" ? { body } : {}),
      ...(fresh === undefined ? {} : { fresh }),
      ...(signal === undefined ? {} : { signal }),
    });
  }
}

function readMember(body: Uint8Array): JsonMembers | undefined {
  return readJsonObject(body).object;
}

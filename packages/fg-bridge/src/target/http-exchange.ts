import { Agent as HttpAgent, request as httpRequest, type IncomingMessage } from "node:http";
import { Agent as HttpsAgent, request as httpsRequest } from "node:https";
import { isIP, type Socket } from "node:net";
import type { Clock } from "@stackwright/base/clock";
import type { CallOutcome } from "@stackwright/base/error-kind";
import { FgBridgeError, type FgBridgeErrorCode } from "../errors.ts";
import type { AddressGuard } from "./address-guard.ts";
import { ReceivedBytes } from "./received-bytes.ts";

/** How long each part of a call may take, in milliseconds. */
export interface FunctionCallTimeouts {
  /** Resolving, connecting and the TLS handshake. */
  readonly connectMs: number;
  /** From the request until the head of the answer. */
  readonly firstByteMs: number;
  /** All together. */
  readonly totalMs: number;
}

interface ExchangeRequest {
  readonly url: URL;
  readonly method: "GET" | "POST";
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: Uint8Array;
  readonly timeouts: FunctionCallTimeouts;
  readonly maxResponseBytes: number;
  readonly signal?: AbortSignal;
  /**
   * Opens a connection for this request alone. A connection that was kept may turn out to be dead only
   * after the request was written, which leaves the outcome open.
   */
  readonly fresh?: boolean;
  /** Gets the parts of the body as they come. */
  readonly onData?: (chunk: Uint8Array) => void;
}

export interface ExchangeResponse {
  readonly status: number;
  readonly headers: IncomingMessage["headers"];
  readonly body: Uint8Array;
}

/** What an operator may say about TLS. Verification cannot be turned off. */
export interface TlsOptions {
  /** Authorities to trust instead of the system's, in PEM. */
  readonly ca?: string | readonly string[];
  /** Certificate and key with which the client shows itself, in PEM. */
  readonly cert?: string;
  readonly key?: string;
}

interface HttpClientOptions {
  readonly guard: AddressGuard;
  readonly clock: Clock;
  readonly tls?: TlsOptions;
  /** Connections that are kept at most, per host. @default 64 */
  readonly maxConnections?: number;
}

/**
 * HTTP/1.1 requests whose failures say whether the request was sent. Addresses are checked by the guard, redirects
 * are not followed, no proxy is taken from the environment, and nothing is compressed.
 */
export class FunctionHttpClient implements AsyncDisposable {
  readonly #guard: AddressGuard;
  readonly #clock: Clock;
  readonly #tls: TlsOptions;
  readonly #agents: { readonly http: HttpAgent; readonly https: HttpsAgent };
  readonly #freshAgents: { readonly http: HttpAgent; readonly https: HttpsAgent };
  #closed = false;

  constructor(options: HttpClientOptions) {
    this.#guard = options.guard;
    this.#clock = options.clock;
    this.#tls = options.tls ?? {};
    const kept = {
      keepAlive: true,
      maxSockets: Infinity,
      maxFreeSockets: options.maxConnections ?? 64,
    };
    this.#agents = { http: new HttpAgent(kept), https: new HttpsAgent(kept) };
    const once = { keepAlive: false, maxSockets: Infinity };
    this.#freshAgents = { http: new HttpAgent(once), https: new HttpsAgent(once) };
  }

  /**
   * Sends one request and reads the whole answer, with any status.
   *
   * @throws FgBridgeError `FG_UNREACHABLE` and `FG_ADDRESS_REFUSED` before the request was sent;
   * `FG_CONNECTION_LOST`, `FG_TIMEOUT`, `FG_RESPONSE_TOO_LARGE` with the outcome that follows from how far it
   * came. Rejects with the reason of `signal`.
   */
  async exchange(call: ExchangeRequest): Promise<ExchangeResponse> {
    if (this.#closed) throw new FgBridgeError("FG_CLOSED", "the client is closed");
    call.signal?.throwIfAborted();
    await this.#checkLiteral(call.url);
    return new Promise((resolve, reject) => {
      new Exchange(call, this.#clock, resolve, reject).start((request) => this.#open(request));
    });
  }

  async close(): Promise<void> {
    this.#closed = true;
    for (const agent of [...Object.values(this.#agents), ...Object.values(this.#freshAgents)]) {
      agent.destroy();
    }
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #open({ url, method, headers, fresh }: ExchangeRequest): ReturnType<typeof httpRequest> {
    const secure = url.protocol === "https:";
    const host = url.hostname.replace(/^\[|\]$/g, "");
    const agents = fresh === true ? this.#freshAgents : this.#agents;
    const options = {
      protocol: url.protocol,
      host,
      port: url.port === "" ? (secure ? 443 : 80) : Number(url.port),
      path: `${url.pathname}${url.search}`,
      method,
      headers: { ...headers, "accept-encoding": "identity" },
      lookup: this.#guard.lookup(!secure),
    };
    if (!secure) return httpRequest({ ...options, agent: agents.http });
    const { ca, cert, key } = this.#tls;
    return httpsRequest({
      ...options,
      agent: agents.https,
      rejectUnauthorized: true,
      minVersion: "TLSv1.2",
      ...(isIP(host) === 0 ? { servername: host } : {}),
      ...(ca === undefined ? {} : { ca: [...(typeof ca === "string" ? [ca] : ca)] }),
      ...(cert === undefined ? {} : { cert }),
      ...(key === undefined ? {} : { key }),
    });
  }

  /** An address that is written in the URL is not resolved, so it is checked here. */
  async #checkLiteral(url: URL): Promise<void> {
    const host = url.hostname.replace(/^\[|\]$/g, "");
    if (isIP(host) !== 0) await this.#guard.resolve(host, url.protocol !== "https:");
  }
}

/**
 * One exchange. `#sent` turns true when the connection stands, and from then on the server may have seen the
 * request; every failure before that is one without an effect.
 */
class Exchange {
  readonly #call: ExchangeRequest;
  readonly #clock: Clock;
  readonly #resolve: (response: ExchangeResponse) => void;
  readonly #reject: (reason: unknown) => void;
  readonly #timers: Disposable[] = [];
  #firstByte: Disposable | undefined;
  #request: ReturnType<typeof httpRequest> | undefined;
  #sent = false;
  #settled = false;

  constructor(
    call: ExchangeRequest,
    clock: Clock,
    resolve: (response: ExchangeResponse) => void,
    reject: (reason: unknown) => void,
  ) {
    this.#call = call;
    this.#clock = clock;
    this.#resolve = resolve;
    this.#reject = reject;
  }

  start(open: (call: ExchangeRequest) => ReturnType<typeof httpRequest>): void {
    const { body, signal, timeouts } = this.#call;
    signal?.addEventListener("abort", this.#abort, { once: true });
    const { connectMs, firstByteMs, totalMs } = timeouts;
    const connecting = this.#clock.after(connectMs, () =>
      this.#timeout(`no connection within ${connectMs} ms`),
    );
    this.#timers.push(
      connecting,
      this.#clock.after(totalMs, () => this.#timeout(`no answer within ${totalMs} ms`)),
    );
    const request = open(this.#call);
    this.#request = request;
    request.on("error", (error) => this.#fail(error));
    request.on("socket", (socket: Socket) => {
      const connected = () => {
        connecting[Symbol.dispose]();
        this.#sent = true;
        this.#firstByte = this.#clock.after(firstByteMs, () =>
          this.#timeout(`the answer did not begin within ${firstByteMs} ms`),
        );
        this.#timers.push(this.#firstByte);
      };
      if (!socket.connecting) connected();
      else if (this.#call.url.protocol === "https:") socket.once("secureConnect", connected);
      else socket.once("connect", connected);
    });
    request.on("response", (response) => this.#read(response));
    if (body === undefined) request.end();
    else request.end(body);
  }

  readonly #abort = (): void => this.#settle(() => this.#reject(this.#call.signal?.reason));

  #read(response: IncomingMessage): void {
    this.#firstByte?.[Symbol.dispose]();
    const { maxResponseBytes, onData } = this.#call;
    const received = new ReceivedBytes();
    let size = 0;
    const announced = Number(response.headers["content-length"] ?? 0);
    if (announced > maxResponseBytes) this.#tooLarge(announced);
    response.on("data", (chunk: Buffer) => {
      size += chunk.length;
      if (size > maxResponseBytes) this.#tooLarge(size);
      else {
        received.add(chunk);
        onData?.(chunk);
      }
    });
    response.on("error", (error) => this.#fail(error));
    response.on("close", () => {
      if (!response.complete) this.#fail(new Error("the answer ended before its end"));
    });
    response.on("end", () => {
      if (!response.complete) return;
      const body = received.all();
      const { statusCode = 0, headers } = response;
      this.#settle(() => this.#resolve({ status: statusCode, headers, body }), false);
    });
  }

  #tooLarge(actualBytes: number): void {
    const limitBytes = this.#call.maxResponseBytes;
    const text = `the answer has more than ${limitBytes} bytes`;
    this.#throw("FG_RESPONSE_TOO_LARGE", text, { actualBytes, limitBytes });
  }

  #timeout(text: string): void {
    this.#throw("FG_TIMEOUT", text, {});
  }

  #fail(error: Error): void {
    if (error instanceof FgBridgeError) {
      this.#settle(() => this.#reject(error));
      return;
    }
    if (this.#sent) this.#throw("FG_CONNECTION_LOST", "the connection was lost", { cause: error });
    else this.#throw("FG_UNREACHABLE", "no connection could be made", { cause: error });
  }

  #throw(
    code: FgBridgeErrorCode,
    text: string,
    options: {
      readonly cause?: unknown;
      readonly actualBytes?: number;
      readonly limitBytes?: number;
    },
  ): void {
    const outcome: CallOutcome = this.#sent ? "unknown" : "not-applied";
    const reason = options.cause instanceof Error ? `: ${options.cause.message}` : "";
    this.#settle(() =>
      this.#reject(
        new FgBridgeError(code, `${this.#call.url.host}: ${text}${reason}`, {
          ...options,
          outcome,
        }),
      ),
    );
  }

  /** Ends the exchange once; `tear` cuts the connection. */
  #settle(finish: () => void, tear = true): void {
    if (this.#settled) return;
    this.#settled = true;
    for (const timer of this.#timers) timer[Symbol.dispose]();
    this.#call.signal?.removeEventListener("abort", this.#abort);
    if (tear) this.#request?.destroy();
    finish();
  }
}

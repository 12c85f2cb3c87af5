import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { formatGrpcError } from "../envelope/grpc-text.ts";
import { ENVELOPE_LIMITS } from "../envelope/request.ts";
import { encodeResponse } from "../envelope/response.ts";
import { FG_BRIDGE_ERRORS, FgBridgeError, type FgBridgeErrorCode } from "../errors.ts";
import { formatEvent } from "../target/event-stream.ts";
import type { FunctionAuthenticator } from "./authenticate.ts";
import { FunctionHandler, type HandleReply } from "./function-handler.ts";
import type { FunctionOptions } from "./function-options.ts";
import { unwrapGatewayEvent, wrapGatewayReply } from "./gateway.ts";
import type { ServedResults } from "./result-store.ts";

export interface FunctionServerOptions extends Omit<FunctionOptions, "results" | "authenticated"> {
  /** @default 127.0.0.1, where the platform expects it */
  readonly host?: string;
  /** @default 8000, where the platform expects it; 0: any free one */
  readonly port?: number;
  /** Authenticates the sender of a request. @default no check: the platform in front does that */
  readonly authenticate?: FunctionAuthenticator;
  /** Large responses are left here and served below `/results/`. @default none */
  readonly results?: ServedResults;
}

/** A function that is served. */
export interface FunctionServer extends AsyncDisposable {
  readonly url: string;
  readonly handler: FunctionHandler;
  close(): Promise<void>;
}

/** Pause between two signs of life in a stream, for gateways that cut what is silent. */
const HEARTBEAT_MS = 10_000;

/**
 * Serves the function side over HTTP: `POST /provider` alone, besides `GET /health` and, with a store, `GET /results/...`.
 *
 * Source: seed 003, rule 1.
 *
 * @throws FgBridgeError `FG_OPTIONS_INVALID`; the error of the system if the port is taken
 */
export async function serveFunction(options: FunctionServerOptions): Promise<FunctionServer> {
  const { host = "127.0.0.1", port = 8000 } = options;
  const handler = new FunctionHandler({
    ...options,
    authenticated: options.authenticate !== undefined,
  });
  const endpoint = new Endpoint(handler, options);
  const server = createServer(
    { requestTimeout: 60_000, headersTimeout: 10_000 },
    endpoint.listener,
  );
  await listen(server, host, port);
  const { address, family, port: bound } = server.address() as AddressInfo;
  const shown = family === "IPv6" ? `[${address}]` : address;
  let closed: Promise<void> | undefined;
  const close = () => {
    closed ??= shut(server, handler);
    return closed;
  };
  return { url: `http://${shown}:${bound}`, handler, close, [Symbol.asyncDispose]: close };
}

function listen(server: Server, host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, host, () => {
      server.off("error", reject);
      resolve();
    });
  });
}

async function shut(server: Server, handler: FunctionHandler): Promise<void> {
  const gone = new Promise<void>((resolve) => {
    server.close(() => resolve());
  });
  server.closeIdleConnections();
  await handler.close();
  server.closeAllConnections();
  await gone;
}

class Endpoint {
  readonly #handler: FunctionHandler;
  readonly #options: FunctionServerOptions;
  readonly #maxBytes: number;

  constructor(handler: FunctionHandler, options: FunctionServerOptions) {
    this.#handler = handler;
    this.#options = options;
    // A gateway event carries the envelope in base64.
    this.#maxBytes =
      Math.ceil(((options.limits?.maxBytes ?? ENVELOPE_LIMITS.maxBytes) * 4) / 3) + 64 * 1024;
  }

  readonly listener = (request: IncomingMessage, response: ServerResponse): void => {
    this.#route(request, response).catch(() => response.destroy());
  };

  async #route(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = request.url ?? "";
    if (path === "/provider") {
      if (request.method === "POST") await this.#provider(request, response);
      else refuse(response, 405, "FG_ENVELOPE_INVALID", "only POST is allowed", { allow: "POST" });
    } else if (path === "/health" && request.method === "GET") {
      response.writeHead(200, { "content-type": "application/json" }).end('{"status":"ok"}');
    } else {
      const found = request.method === "GET" ? this.#options.results?.take(path) : undefined;
      if (found === undefined)
        refuse(response, 404, "FG_ENVELOPE_INVALID", "there is nothing here");
      else response.writeHead(200, { "content-type": "application/octet-stream" }).end(found);
    }
  }

  async #provider(request: IncomingMessage, response: ServerResponse): Promise<void> {
    let body: Uint8Array;
    try {
      body = await readBody(request, this.#maxBytes);
    } catch (error) {
      if (!(error instanceof FgBridgeError)) throw error;
      refuse(response, 413, error.code, error.message, { connection: "close" });
      return;
    }
    const caller = await this.#authenticate(request, response, body);
    if (caller === undefined) return;
    const gone = new AbortController();
    response.once("close", () => {
      if (!response.writableFinished)
        gone.abort(new FgBridgeError("FG_CONNECTION_LOST", "the caller has gone"));
    });
    const event = unwrapGatewayEvent(body);
    const stream =
      event === undefined && accepts(request) ? new ProgressStream(response) : undefined;
    const timeout = timeoutOf(request);
    const reply = await this.#handler.handle(event ?? body, {
      caller,
      signal: gone.signal,
      ...(timeout === undefined ? {} : { platformTimeoutMs: timeout }),
      ...(stream === undefined ? {} : { onProgress: stream.progress }),
    });
    if (event !== undefined) send(response, { status: 200, body: wrapGatewayReply(reply) });
    else if (stream?.started === true) stream.end(reply);
    else send(response, reply);
  }

  /** Who calls; `undefined` when the request was refused. */
  async #authenticate(
    request: IncomingMessage,
    response: ServerResponse,
    body: Uint8Array,
  ): Promise<string | undefined> {
    const { authenticate, onAudit } = this.#options;
    if (authenticate === undefined) return "";
    const headers: [string, string][] = [];
    for (let i = 0; i + 1 < request.rawHeaders.length; i += 2) {
      headers.push([request.rawHeaders[i] ?? "", request.rawHeaders[i + 1] ?? ""]);
    }
    try {
      return await authenticate({ method: "POST", target: "/provider", headers, body });
    } catch (error) {
      const reason = error instanceof Error ? error.message : "not authenticated";
      onAudit?.({ kind: "caller-refused", code: "FG_UNAUTHORIZED", reason });
      refuse(response, 401, "FG_UNAUTHORIZED", "the caller is not known");
      return undefined;
    }
  }
}

/** Progress as server-sent events. Begins with the first event, when the request is past its refusal. */
class ProgressStream {
  readonly #response: ServerResponse;
  #heartbeat: NodeJS.Timeout | undefined;

  constructor(response: ServerResponse) {
    this.#response = response;
  }

  get started(): boolean {
    return this.#heartbeat !== undefined;
  }

  readonly progress = (text: string): void => {
    if (this.#heartbeat === undefined) {
      this.#response.writeHead(200, {
        "content-type": "text/event-stream",
        "cache-control": "no-store",
      });
      this.#heartbeat = setInterval(() => this.#response.write(": heartbeat\n\n"), HEARTBEAT_MS);
      this.#response.once("close", () => clearInterval(this.#heartbeat));
    }
    this.#response.write(formatEvent("progress", text));
  };

  end({ body }: HandleReply): void {
    clearInterval(this.#heartbeat);
    this.#response.end(formatEvent("result", Buffer.from(body).toString()));
  }
}

function accepts(request: IncomingMessage): boolean {
  return (request.headers.accept ?? "").includes("text/event-stream");
}

/** What the platform allows, which it says in seconds. */
function timeoutOf(request: IncomingMessage): number | undefined {
  const seconds = Number(request.headers["x-cff-timeout"]);
  return Number.isFinite(seconds) && seconds > 0 ? seconds * 1000 : undefined;
}

async function readBody(request: IncomingMessage, maxBytes: number): Promise<Uint8Array> {
  const tooLarge = (bytes: number) =>
    new FgBridgeError("FG_REQUEST_TOO_LARGE", `the request has more than ${maxBytes} bytes`, {
      limitBytes: maxBytes,
      actualBytes: bytes,
    });
  const announced = Number(request.headers["content-length"] ?? 0);
  if (announced > maxBytes) throw tooLarge(announced);
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > maxBytes) throw tooLarge(size);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

function send(response: ServerResponse, { status, body }: HandleReply): void {
  if (response.destroyed) return;
  response.writeHead(status, {
    "content-type": "application/json",
    "content-length": body.length,
    "cache-control": "no-store",
  });
  response.end(body);
}

function refuse(
  response: ServerResponse,
  status: number,
  code: FgBridgeErrorCode,
  text: string,
  headers: Readonly<Record<string, string>> = {},
): void {
  const body = encodeResponse({
    responseData: new Uint8Array(),
    error: formatGrpcError(FG_BRIDGE_ERRORS[code].status, text),
  });
  for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
  send(response, { status, body });
}

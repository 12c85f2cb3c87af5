import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { type Clock, systemClock } from "@stackwright/base/clock";
import { type Logger, silentLogger } from "@stackwright/base/logger";
import { createVerifier, type Verifier } from "@stackwright/request-signing";
import type { AuditSink } from "../audit.ts";
import { FgBridgeError } from "../errors.ts";
import { AddressGuard } from "../target/address-guard.ts";
import type { AsyncResultReader } from "../target/async-results.ts";
import { AsyncInvocations } from "./async-invocations.ts";
import {
  type ResolvedFunction,
  type RuntimeFunction,
  resolveFunction,
} from "./function-definition.ts";
import { InstancePool } from "./instance-pool.ts";
import {
  encodeInvocation,
  encodeStored,
  type InvocationResult,
  readEvent,
} from "./invocation-forms.ts";
import { PlatformError } from "./platform-error.ts";

/** Who may call which functions. */
export interface FunctionsAccount {
  readonly accessKey: string;
  readonly secretKey: string;
  readonly projects: readonly string[];
}

export interface FunctionsServerOptions {
  readonly functions: readonly RuntimeFunction[];
  /** @default 127.0.0.1 */
  readonly host?: string;
  /** @default any free one */
  readonly port?: number;
  /** Keys whose signatures are required. Without any, all processes of this machine may call all functions. */
  readonly accounts?: readonly FunctionsAccount[];
  /** How long an asynchronous invocation may run, in milliseconds. @default 3_600_000 */
  readonly asyncTimeoutMs?: number;
  readonly onAudit?: AuditSink;
  readonly logger?: Logger;
  readonly clock?: Clock;
}

/** A running local function runtime. */
export interface FunctionsServer extends AsyncDisposable {
  readonly url: string;
  /** Results of asynchronous invocations, for a caller in this process; others find them at `/results/<request id>`. */
  readonly results: AsyncResultReader;
  /** Cold starts of a function so far, and its instances at present. */
  instances(urn: string): { readonly starts: number; readonly alive: number };
  /** Replaces the code of a function, or adds one; instances of the old code end. */
  deploy(definition: RuntimeFunction): Promise<void>;
  /** Takes a function away; its instances end. */
  remove(urn: string): Promise<void>;
  close(): Promise<void>;
}

const SYNC_LIMIT = 6 * 1024 * 1024;
const ASYNC_LIMIT = 256 * 1024;
const NOTICE =
  "Local function runtime with the FunctionGraph invoke API, for development and tests. Not the service itself.";

/**
 * Runs functions on this machine behind the invoke API of FunctionGraph: synchronous and asynchronous invocations with
 * their states, cancellation, cold starts, limits of instances, time and size, and the errors of the platform. Every
 * answer states that it comes from a local function runtime (`server` header, and `GET /`).
 *
 * Source: FunctionGraph API reference.
 *
 * @throws FgBridgeError `FG_OPTIONS_INVALID`, `FG_URN_INVALID`; the error of the system if the port is taken
 */
export async function serveFunctions(options: FunctionsServerOptions): Promise<FunctionsServer> {
  const { host = "127.0.0.1", port = 0, accounts = [] } = options;
  if (accounts.length === 0 && !AddressGuard.isLoopback(host)) {
    const text = "functions that others can reach need accounts";
    throw new FgBridgeError("FG_OPTIONS_INVALID", text);
  }
  const platform = new Platform(options);
  const server = createServer({ requestTimeout: 60_000 }, platform.listener);
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, host, resolve);
  });
  const { address, port: bound } = server.address() as AddressInfo;
  let closed: Promise<void> | undefined;
  const close = () => {
    closed ??= shut(server, platform);
    return closed;
  };
  return {
    url: `http://${address.includes(":") ? `[${address}]` : address}:${bound}`,
    results: platform.invocations.results,
    instances: (urn) => platform.instances(urn),
    deploy: (definition) => platform.deploy(definition),
    remove: (urn) => platform.remove(urn),
    close,
    [Symbol.asyncDispose]: close,
  };
}

async function shut(server: Server, platform: Platform): Promise<void> {
  const gone = new Promise((resolve) => {
    server.close(resolve);
  });
  await platform.close();
  server.closeAllConnections();
  await gone;
}

interface Running {
  readonly definition: ResolvedFunction;
  readonly pool: InstancePool;
}

class Platform {
  readonly invocations: AsyncInvocations;
  readonly #functions = new Map<string, Running>();
  readonly #accounts: ReadonlyMap<string, FunctionsAccount>;
  readonly #verifier: Verifier | undefined;
  readonly #onAudit: AuditSink;
  readonly #logger: Logger;
  readonly #clock: Clock;
  readonly #asyncTimeoutMs: number;

  constructor(options: FunctionsServerOptions) {
    const { accounts = [], functions } = options;
    this.#clock = options.clock ?? systemClock;
    this.#logger = options.logger ?? silentLogger;
    this.#onAudit = options.onAudit ?? (() => undefined);
    this.#asyncTimeoutMs = options.asyncTimeoutMs ?? 3_600_000;
    this.#accounts = new Map(accounts.map((account) => [account.accessKey, account]));
    if (accounts.length > 0) {
      const secretFor = (key: string) => this.#accounts.get(key)?.secretKey;
      this.#verifier = createVerifier({ secretFor });
    }
    this.invocations = new AsyncInvocations(() => Date.now());
    for (const definition of functions) this.#add(resolveFunction(definition));
  }

  readonly listener = (request: IncomingMessage, response: ServerResponse): void => {
    response.setHeader("server", "stackwright-functions (local function runtime)");
    this.#route(request, response).catch((error: unknown) => {
      const failure =
        error instanceof PlatformError
          ? error
          : new PlatformError(500, "FSS.0500", "the runtime failed");
      if (!(error instanceof PlatformError)) this.#logger.error({ error }, "request failed");
      const { status, code, message } = failure;
      if (response.headersSent) response.destroy();
      else reply(response, status, { error_code: code, error_msg: message });
    });
  };

  instances(urn: string): { readonly starts: number; readonly alive: number } {
    const pool = this.#functions.get(urn)?.pool;
    return { starts: pool?.starts ?? 0, alive: pool?.size ?? 0 };
  }

  async deploy(definition: RuntimeFunction): Promise<void> {
    const old = this.#functions.get(definition.urn);
    this.#add(resolveFunction(definition));
    await old?.pool[Symbol.asyncDispose]();
  }

  async remove(urn: string): Promise<void> {
    const old = this.#functions.get(urn);
    this.#functions.delete(urn);
    await old?.pool[Symbol.asyncDispose]();
  }

  async close(): Promise<void> {
    await this.invocations.close();
    for (const { pool } of this.#functions.values()) await pool[Symbol.asyncDispose]();
  }

  #add(definition: ResolvedFunction): void {
    const pool = new InstancePool(definition, this.#clock, this.#logger);
    this.#functions.set(definition.urn, { definition, pool });
  }

  async #route(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = URL.parse(request.url ?? "/", "http://localhost");
    if (url === null) throw new PlatformError(400, "FSS.0400", "the path is not one");
    if (url.pathname === "/") {
      reply(response, 200, { name: "stackwright functions", notice: NOTICE });
      return;
    }
    const body = await readBody(request);
    const account = await this.#authenticate(request, body);
    const segments = url.pathname.replace(/\/$/, "").split("/").slice(1).map(decodeSegment);
    if (segments[0] === "results" && segments.length === 2) {
      this.#result(segments[1] ?? "", account, response);
      return;
    }
    const [version, project = "", fgs, functions, urn = "", action = "", ...rest] = segments;
    const known = version === "v2" && fgs === "fgs" && functions === "functions";
    if (!known || rest.length > 0) throw new PlatformError(404, "FSS.0404", "no such path");
    const running = this.#find(project, urn, account);
    switch (`${request.method} ${action}`) {
      case "POST invocations":
        await this.#invoke(running, request, body, response);
        return;
      case "POST invocations-async":
        this.#invokeAsync(running, body, response);
        return;
      case "GET async-invocations":
      case "GET active-async-invocations":
        this.#list(running, url.searchParams, response);
        return;
      case "POST cancel":
        this.#cancel(running, body, response);
        return;
      default:
        throw new PlatformError(404, "FSS.0404", "no such path");
    }
  }

  async #authenticate(
    request: IncomingMessage,
    body: Uint8Array,
  ): Promise<FunctionsAccount | undefined> {
    if (this.#verifier === undefined) return undefined;
    const headers: [string, string][] = [];
    for (let i = 0; i + 1 < request.rawHeaders.length; i += 2) {
      headers.push([request.rawHeaders[i] ?? "", request.rawHeaders[i + 1] ?? ""]);
    }
    const { method = "", url: target = "" } = request;
    try {
      const { accessKey } = await this.#verifier.verify({ method, target, headers, body });
      return this.#accounts.get(accessKey);
    } catch (error) {
      const reason = error instanceof Error ? error.message : "not signed";
      this.#onAudit({ kind: "caller-refused", code: "FG_UNAUTHORIZED", reason });
      throw new PlatformError(401, "FSS.0401", "the signature is not accepted");
    }
  }

  #find(project: string, urn: string, account: FunctionsAccount | undefined): Running {
    const running = this.#functions.get(urn);
    // Whether a function of another project exists is not disclosed.
    const owner = urn.split(":")[3] ?? "";
    const foreign = account !== undefined && !account.projects.includes(owner);
    if (foreign || project !== owner) {
      const reason = "the function belongs to another project";
      this.#onAudit({
        kind: "target-refused",
        code: "FG_FORBIDDEN",
        reason,
        subject: urn.slice(0, 300),
        ...(account === undefined ? {} : { caller: account.accessKey }),
      });
      throw new PlatformError(403, "FSS.0403", reason);
    }
    if (running === undefined)
      throw new PlatformError(404, "FSS.0404", "there is no such function");
    return running;
  }

  async #invoke(
    running: Running,
    request: IncomingMessage,
    body: Uint8Array,
    response: ServerResponse,
  ): Promise<void> {
    limit(body, SYNC_LIMIT);
    const gone = new AbortController();
    response.once("close", () => {
      if (!response.writableFinished) gone.abort(new Error("the caller has gone"));
    });
    const result = await this.#run(running, body, gone.signal);
    const wrapped = request.headers["x-cff-request-version"] === "v1";
    response.setHeader("x-cff-request-id", result.requestId);
    response.setHeader("x-func-err-code", result.failure?.code ?? "0");
    response.setHeader("x-is-func-err", String(result.failure !== undefined));
    const bytes = encodeInvocation(result, wrapped);
    if (bytes.length > 3 * SYNC_LIMIT)
      throw new PlatformError(413, "FSS.0413", "the answer is too large");
    response.writeHead(200, { "content-type": "application/json", "content-length": bytes.length });
    response.end(bytes);
  }

  #invokeAsync({ definition, pool }: Running, body: Uint8Array, response: ServerResponse): void {
    limit(body, ASYNC_LIMIT);
    const requestId = this.invocations.start(definition.urn, async (invocation) => {
      const long = { ...definition, timeoutMs: this.#asyncTimeoutMs };
      const { signal } = invocation.cancel;
      const result = await this.#run({ definition: long, pool }, body, signal);
      if (result.failure !== undefined) throw new Error(result.failure.text);
      return encodeStored(definition.urn, invocation.requestId, result, new Date());
    });
    reply(response, 202, { request_id: requestId });
  }

  async #run(
    { definition, pool }: Running,
    body: Uint8Array,
    signal: AbortSignal,
  ): Promise<InvocationResult> {
    const { request, requestId } = readEvent(definition, body);
    try {
      const { response, cold } = await pool.invoke(request, signal, definition.timeoutMs);
      this.#logger.debug(
        { urn: definition.urn, cold, status: response.status },
        "function invoked",
      );
      return { definition, requestId, response };
    } catch (error) {
      if (!(error instanceof FgBridgeError)) throw error;
      const { code, message } = error;
      this.#logger.warn({ urn: definition.urn, code, text: message }, "function failed");
      if (code === "FG_THROTTLED") throw new PlatformError(429, "FSS.0429", message);
      if (code === "FG_PROVIDER_START_FAILED") throw new PlatformError(503, "FSS.0503", message);
      const failure = { code: code === "FG_TIMEOUT" ? "FSS.0408" : "FSS.0500", text: message };
      return { definition, requestId, failure };
    }
  }

  #list({ definition }: Running, query: URLSearchParams, response: ServerResponse): void {
    const wanted = query.get("request_id");
    const state = query.get("status");
    const start = Number(query.get("marker") ?? 0);
    const count = Math.min(Math.max(Number(query.get("limit") ?? 100), 1), 500);
    const found = this.invocations
      .list(definition.urn)
      .filter((one) => wanted === null || one.requestId === wanted)
      .filter((one) => state === null || one.state === state);
    const page = found.slice(start, start + count);
    reply(response, 200, {
      invocations: page.map((one) => ({
        request_id: one.requestId,
        status: one.state,
        error_code: one.state === "FAIL" ? 1 : 0,
        error_message: one.errorMessage,
        start_time: new Date(one.startedMs).toISOString(),
        end_time: one.endedMs === undefined ? "" : new Date(one.endedMs).toISOString(),
      })),
      count: found.length,
      ...(start + count < found.length ? { next_marker: String(start + count) } : {}),
    });
  }

  #cancel({ definition }: Running, body: Uint8Array, response: ServerResponse): void {
    const read = JSON.parse(Buffer.from(body).toString() || "{}") as Record<string, unknown>;
    const { request_id: requestId, type = "force" } = read;
    const known = typeof requestId === "string" && (type === "force" || type === "recursive");
    const found = known ? this.invocations.get(definition.urn, requestId) : undefined;
    if (found === undefined)
      throw new PlatformError(404, "FSS.0404", "there is no such invocation");
    found.cancel.abort(new FgBridgeError("FG_CLOSED", "the invocation was canceled"));
    reply(response, 200, {});
  }

  #result(
    requestId: string,
    account: FunctionsAccount | undefined,
    response: ServerResponse,
  ): void {
    for (const { definition } of this.#functions.values()) {
      const mine = account === undefined || account.projects.includes(definition.project);
      const result = mine ? this.invocations.get(definition.urn, requestId)?.result : undefined;
      if (result === undefined) continue;
      response.writeHead(200, { "content-type": "application/json" }).end(result);
      return;
    }
    throw new PlatformError(404, "FSS.0404", "there is no such result");
  }
}

function limit(body: Uint8Array, bytes: number): void {
  if (body.length <= bytes) return;
  throw new PlatformError(
    413,
    "FSS.0413",
    `the request has ${body.length} bytes, ${bytes} are allowed`,
  );
}

function decodeSegment(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    throw new PlatformError(400, "FSS.0400", "the path is not well-formed");
  }
}

async function readBody(request: IncomingMessage): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > SYNC_LIMIT + 1024)
      throw new PlatformError(413, "FSS.0413", "the request is too large");
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

function reply(response: ServerResponse, status: number, body: object): void {
  const text = JSON.stringify(body);
  response.writeHead(status, { "content-type": "application/json" }).end(text);
}

import { readFileSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { freePorts } from "@stackwright/base/free-ports";
import { supportOlderNode } from "../bridge/older-node.ts";
import { FUNCTION_MANIFEST, type FunctionManifest } from "./function-manifest.ts";

/*
 * The start program of packaged functions, one file of CommonJS beside what it starts. As an HTTP function and in a container it is run;
 * as an event function it is loaded, and its `handler` called with each event. What serves the provider is an HTTP server either
 * way; for events it listens on a free port of loopback in the same process.
 */

const LOOPBACK = "127.0.0.1";
/** How long a server may take until it listens. */
const START_MS = 20_000;
const POLL_MS = 10;
/** Node keeps each module that was imported, so that an instance is given up after so many starts that failed. */
const MAX_STARTS = 10;
/** Of the connection, and not of what is asked. */
const CONNECTION_HEADERS: ReadonlySet<string> = new Set([
  "host",
  "connection",
  "content-length",
  "transfer-encoding",
  "expect",
]);

supportOlderNode();

/** @param attempt more than 1 where the module failed before: one that failed is kept under its address */
async function startServer(host: string, port: number, attempt = 1): Promise<void> {
  const folder = __dirname;
  const { run } = JSON.parse(
    readFileSync(join(folder, FUNCTION_MANIFEST), "utf8"),
  ) as FunctionManifest;
  process.env["HOST"] = host;
  process.env["PORT"] = String(port);
  if ("module" in run) {
    const { href } = pathToFileURL(join(folder, run.module));
    await import(attempt === 1 ? href : `${href}?attempt=${attempt}`);
    return;
  }
  const { JOURNAL: journal = "" } = process.env;
  process.argv.splice(
    2,
    process.argv.length,
    "--provider",
    join(folder, run.provider),
    "--listen",
    `${host}:${port}`,
    ...run.environment.flatMap((name) => ["--env", name]),
    ...(journal === "" ? [] : ["--journal", journal]),
  );
  await import("../function/main.ts");
}

function requireKnownCallers(host: string): void {
  const { STACKWRIGHT_FUNCTION_TOKEN: token = "", STACKWRIGHT_FUNCTION_KEYS: keys = "" } =
    process.env;
  if (host === LOOPBACK || token !== "" || keys !== "") return;
  throw new Error(
    `Callers reach this function at ${host}, so they have to be known: set STACKWRIGHT_FUNCTION_TOKEN to the token that they send.`,
  );
}

/** An event in the form of the platform's gateway, or the envelope itself. */
interface FunctionEvent {
  readonly httpMethod?: unknown;
  readonly path?: unknown;
  readonly headers?: Readonly<Record<string, unknown>>;
  readonly body?: unknown;
  readonly isBase64Encoded?: unknown;
}

interface FunctionContext {
  readonly getRemainingTimeInMilliSeconds?: () => number;
}

let started: Promise<string> | undefined;

/** What starts or has started; one that failed is replaced by the next event, one that is slow is waited for again. */
let latest: { readonly port: number; readonly attempt: number; failure?: unknown } | undefined;

/** Serves one event of the platform. The server starts with the first. */
async function handler(event: FunctionEvent, context?: FunctionContext): Promise<unknown> {
  // A start that failed is not kept: the platform calls the same instance again.
  started ??= startForEvents().catch((error: unknown) => {
    started = undefined;
    throw error;
  });
  const url = await started;
  const left = context?.getRemainingTimeInMilliSeconds?.();
  const method = typeof event.httpMethod === "string" ? event.httpMethod : undefined;
  const isGateway = method !== undefined;
  const answer = await fetch(url + (isGateway ? String(event.path) : "/provider"), {
    method: method ?? "POST",
    headers: {
      "content-type": "application/json",
      ...(isGateway ? passedHeaders(event.headers ?? {}) : {}),
      // Whole seconds, as the platform gives it to HTTP functions.
      ...(left !== undefined && { "x-cff-timeout": String(Math.max(1, Math.floor(left / 1000))) }),
    },
    ...bodyOf(event, isGateway),
    redirect: "manual",
    ...(left !== undefined && { signal: AbortSignal.timeout(Math.max(1, left)) }),
  });
  const body = Buffer.from(await answer.arrayBuffer());
  if (isGateway) {
    return {
      statusCode: answer.status,
      headers: { "content-type": answer.headers.get("content-type") ?? "application/json" },
      isBase64Encoded: true,
      body: body.toString("base64"),
    };
  }
  if (answer.status === 200) return JSON.parse(body.toString("utf8")) as unknown;
  throw new Error(`status ${answer.status}: ${body.toString("utf8", 0, 1000)}`);
}

function passedHeaders(headers: Readonly<Record<string, unknown>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) =>
      typeof value === "string" && !CONNECTION_HEADERS.has(name.toLowerCase())
        ? [[name.toLowerCase(), value]]
        : [],
    ),
  );
}

function bodyOf(event: FunctionEvent, isGateway: boolean): { body?: string | Uint8Array } {
  if (!isGateway) return { body: JSON.stringify(event) };
  const { httpMethod, body, isBase64Encoded } = event;
  if (httpMethod === "GET" || httpMethod === "HEAD" || typeof body !== "string") return {};
  return { body: isBase64Encoded === false ? body : Buffer.from(body, "base64") };
}

async function startForEvents(): Promise<string> {
  const start = latest === undefined || "failure" in latest ? await nextStart() : latest;
  const { port } = start;
  const deadline = performance.now() + START_MS;
  while (!(await listens(port))) {
    if ("failure" in start) throw start.failure;
    if (performance.now() > deadline) {
      throw new Error(`the function did not listen on port ${port} within ${START_MS} ms`);
    }
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
  return `http://${LOOPBACK}:${port}`;
}

async function nextStart() {
  if (latest !== undefined && latest.attempt >= MAX_STARTS) {
    // The platform replaces an instance whose process has ended, and the next one may start.
    process.stderr.write(`The function failed to start ${MAX_STARTS} times. Its last failure:\n`);
    fail(latest.failure);
  }
  const [port = 0] = await freePorts(1);
  const start: NonNullable<typeof latest> = { port, attempt: (latest?.attempt ?? 0) + 1 };
  latest = start;
  startServer(LOOPBACK, port, start.attempt).catch((error: unknown) => {
    start.failure = error;
  });
  return start;
}

function listens(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, LOOPBACK);
    socket.once("connect", () => resolve(true));
    socket.once("error", () => resolve(false));
    socket.once("close", () => resolve(false));
    socket.once("connect", () => socket.destroy());
  });
}

function fail(error: unknown): never {
  process.stderr.write(`${error instanceof Error ? error.stack : String(error)}\n`);
  process.exit(1);
}

// The platform loads the bundle as CommonJS.
module.exports = { handler };

// Loaded otherwise.
if (require.main === module) {
  const { HOST: host = LOOPBACK, PORT: port = "8000" } = process.env;
  try {
    requireKnownCallers(host);
    startServer(host, Number(port)).catch(fail);
  } catch (error) {
    fail(error);
  }
}

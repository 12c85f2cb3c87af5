import { request as httpRequest } from "node:http";
import { connect } from "node:net";
import { delimiter, dirname, join, resolve } from "node:path";
import { type Clock, sleep } from "@stackwright/base/clock";
import { freePorts } from "@stackwright/base/free-ports";
import type { Logger } from "@stackwright/base/logger";
import { SupervisedProcess } from "@stackwright/mux/host";
import { FgBridgeError } from "../errors.ts";
import type { InstanceRequest, InstanceResponse, ResolvedFunction } from "./function-definition.ts";

/** Something that runs the code of a function. */
export interface FunctionInstance extends AsyncDisposable {
  readonly isAlive: boolean;
  /** @throws FgBridgeError `FG_CONNECTION_LOST`; the reason of the signal */
  send(
    request: InstanceRequest,
    options: { readonly signal: AbortSignal },
  ): Promise<InstanceResponse>;
}

const HOST = "127.0.0.1";
const POLL_MS = 20;
/** Characters of its output that are kept for a failure to start, and those that its message shows. */
const MAX_OUTPUT_CHARACTERS = 8000;
const MAX_REASON_CHARACTERS = 600;
const MAX_RESPONSE_BYTES = 16 * 1024 * 1024;

/**
 * Starts an instance and waits until it listens.
 *
 * @throws FgBridgeError `FG_PROVIDER_START_FAILED`
 */
export async function startInstance(
  definition: ResolvedFunction,
  clock: Clock,
  logger: Logger,
): Promise<FunctionInstance> {
  const { code, coldStartMs, urn, env, initTimeoutMs } = definition;
  if (coldStartMs > 0) await sleep(clock, coldStartMs);
  if ("handle" in code) {
    const { handle } = code;
    return {
      isAlive: true,
      // Code in this process cannot be stopped, but no caller waits for it any longer.
      send: (request, options) => Promise.race([handle(request, options), aborted(options.signal)]),
      [Symbol.asyncDispose]: async () => undefined,
    };
  }
  const [path, args, cwd] =
    "directory" in code
      ? [join(resolve(code.directory), "bootstrap"), [], resolve(code.directory)]
      : [code.command[0], code.command.slice(1), resolve(code.cwd ?? ".")];
  const [port = 0] = await freePorts(1);
  let output = "";
  const log = (chunk: Buffer): void => {
    const text = chunk.toString();
    output = (output + text).slice(0, MAX_OUTPUT_CHARACTERS);
    logger.info({ urn, text }, "function output");
  };
  const child = await SupervisedProcess.start({
    path,
    args,
    cwd,
    env: { PATH: pathWithNode(), ...env, PORT: String(port) },
    onStdout: log,
    onStderr: log,
  }).catch((cause: unknown) => {
    throw startFailed(definition, "cannot be started", cause);
  });
  const instance = new ProcessInstance(child, port);
  const deadline = clock.monotonicMs() + initTimeoutMs;
  while (!(await listens(port))) {
    if (child.exit !== undefined) {
      const reason = reasonIn(output);
      const why = reason === "" ? "" : `; it wrote: ${reason}`;
      throw startFailed(definition, `ended before it listened${why}`);
    }
    if (clock.monotonicMs() > deadline) {
      await instance[Symbol.asyncDispose]();
      throw startFailed(definition, `did not listen on port ${port} within ${initTimeoutMs} ms`);
    }
    await sleep(clock, POLL_MS);
  }
  return instance;
}

/** What a program says when it fails to start: why comes first, and where the interpreter was then is no help. */
function reasonIn(output: string): string {
  const lines = output.split("\n").filter((line) => !/^\s+at /.test(line));
  return lines.join("\n").trim().slice(0, MAX_REASON_CHARACTERS);
}

/** Functions are often programs of Node: they get the one that runs this before any other. */
function pathWithNode(): string {
  return [dirname(process.execPath), process.env.PATH ?? ""].filter(Boolean).join(delimiter);
}

function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    signal.addEventListener("abort", () => reject(signal.reason as Error), { once: true });
  });
}

function startFailed({ urn }: ResolvedFunction, text: string, cause?: unknown): FgBridgeError {
  return new FgBridgeError("FG_PROVIDER_START_FAILED", `an instance of ${urn} ${text}`, { cause });
}

class ProcessInstance implements FunctionInstance {
  readonly #child: SupervisedProcess;
  readonly #port: number;

  constructor(child: SupervisedProcess, port: number) {
    this.#child = child;
    this.#port = port;
  }

  get isAlive(): boolean {
    return this.#child.exit === undefined;
  }

  send(
    { method, path, headers, body }: InstanceRequest,
    { signal }: { readonly signal: AbortSignal },
  ): Promise<InstanceResponse> {
    return new Promise((resolve, reject) => {
      const lost = (cause: Error) =>
        reject(
          signal.aborted
            ? (signal.reason as Error)
            : new FgBridgeError("FG_CONNECTION_LOST", "the instance did not answer", { cause }),
        );
      const request = httpRequest(
        {
          host: HOST,
          port: this.#port,
          method,
          path,
          headers: { ...headers, "content-length": body.length },
          agent: false,
          signal,
        },
        (response) => {
          const chunks: Buffer[] = [];
          let size = 0;
          response.on("data", (chunk: Buffer) => {
            size += chunk.length;
            if (size > MAX_RESPONSE_BYTES) request.destroy(new Error("its answer is too large"));
            chunks.push(chunk);
          });
          response.on("error", lost);
          response.on("end", () => {
            resolve({
              status: response.statusCode ?? 0,
              headers: { "content-type": response.headers["content-type"] ?? "" },
              body: Buffer.concat(chunks),
            });
          });
        },
      );
      request.on("error", lost);
      request.end(body);
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#child.end(2000);
  }
}

function listens(port: number): Promise<boolean> {
  return new Promise((answer) => {
    const socket = connect(port, HOST);
    socket.once("connect", () => {
      socket.destroy();
      answer(true);
    });
    socket.once("error", () => answer(false));
  });
}

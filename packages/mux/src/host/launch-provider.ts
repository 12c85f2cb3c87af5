import { basename } from "node:path";
import { deferred } from "@stackwright/base/deferred";
import { RpcError } from "@stackwright/proto/grpc";
import type { ProviderHandshakeResponse } from "@stackwright/proto/pulumirpc";
import { MuxError } from "../errors.ts";
import type { ResourceProvider } from "../resource-provider.ts";
import { type Connection, connectProvider } from "./connect-provider.ts";
import { delegateProvider } from "./delegate-provider.ts";
import { findExecutable } from "./find-executable.ts";
import {
  handshakeOf,
  type LaunchOptions,
  type ProcessLine,
  type ResolvedLaunchOptions,
  resolveLaunchOptions,
} from "./launch-options.ts";
import { LineSplitter, LineTail } from "./line-splitter.ts";
import { PortLine } from "./port-line.ts";
import { StartupTimeout } from "./startup-timeout.ts";
import { describeExit, type ProcessExit, SupervisedProcess } from "./supervised-process.ts";
import { ThrownErrors } from "./thrown-errors.ts";

/** A provider process that has started and answers calls. */
export interface LaunchedProvider extends AsyncDisposable {
  /** Rejects with `MUX_PROCESS_ENDED` once the process has ended, and with `MUX_PROCESS_CRASHED` where it ends under a call. */
  readonly provider: ResourceProvider;
  /** Absent for a provider that does not implement Handshake. */
  readonly handshake: ProviderHandshakeResponse | undefined;
  readonly port: number;
  /** Pid of the provider itself, and the process group that it is in. */
  readonly pid: number | undefined;
  readonly group: number;
  /** Settles when the process has ended, for any reason; never rejects. */
  readonly exited: Promise<ProcessExit>;
  /** Present once the process has ended. */
  readonly exit: ProcessExit | undefined;
  /** Kills the process group at once, as an unexpected loss. */
  kill(): Promise<ProcessExit>;
  /**
   * Sends Cancel and waits for its answer, then asks the process group to end, and kills it after the grace. May be
   * called again, and at any time.
   */
  close(): Promise<void>;
}

/** How long the end of a process may be behind the loss of its connection. */
const EXIT_LAG_MS = 250;

/**
 * Starts a Pulumi provider: a program that prints the port of its gRPC server as its first line. Resolves when the
 * provider has answered the handshake; a start that fails leaves no process behind. The process and what it starts
 * end with this process, even if that is killed.
 *
 * Rejects with the signal's reason or a `MuxError`: `MUX_PROCESS_NOT_FOUND`, `MUX_PROCESS_PORT_INVALID`,
 * `MUX_PROCESS_ENDED` (before it was ready; the text has its last lines), `MUX_PROCESS_START_TIMEOUT`,
 * `MUX_PROCESS_HANDSHAKE_FAILED`, `MUX_OPTIONS_INVALID`.
 *
 * Source: Pulumi's launch protocol of providers.
 */
export async function launchProvider(options: LaunchOptions): Promise<LaunchedProvider> {
  return startProcess(resolveLaunchOptions(options));
}

/** {@link launchProvider} with options that are complete. */
export async function startProcess(options: ResolvedLaunchOptions): Promise<LaunchedProvider> {
  const { engineAddress, clock, signal, startTimeoutMs } = options;
  signal?.throwIfAborted();
  const path = await findExecutable(options.command, options);
  const output = new ProcessOutput(options);
  const child = await SupervisedProcess.start({
    path,
    args: engineAddress === undefined ? options.args : [...options.args, engineAddress],
    cwd: options.cwd,
    env: options.env,
    onStdout: output.port.push,
    onStderr: (chunk) => output.stderr.push(chunk),
    clock,
  });
  using deadline = new StartupTimeout({
    clock,
    timeoutMs: startTimeoutMs,
    what: options.command,
    stage: "wrote no port",
    signal,
  });
  try {
    const ended = child.exited.then((exit): never => {
      output.end();
      throw endedEarly(options, exit, output.tail);
    });
    ended.catch(() => undefined);
    const port = await deadline.bound(Promise.race([output.port.port, ended]));
    const connecting = connectProvider(port, handshakeOf(options, path), deadline);
    // A connection that comes too late is not kept.
    const connection = await Promise.race([connecting, ended]).catch(async (error: unknown) => {
      deadline.abandon();
      await connecting.then(({ channel }) => channel.close()).catch(() => undefined);
      throw error;
    });
    return new ProviderProcess(options, child, connection, port, output);
  } catch (error) {
    await child.kill();
    throw error;
  }
}

/** What a provider writes: its port, and lines for the log. */
class ProcessOutput {
  readonly tail = new LineTail();
  readonly thrown: ThrownErrors;
  readonly stderr: LineSplitter;
  readonly port: PortLine;
  readonly #stdout: LineSplitter;

  constructor({ onLine, redact, logger, command, clock }: ResolvedLaunchOptions) {
    const name = basename(command);
    this.thrown = new ThrownErrors(clock);
    const take = (stream: ProcessLine["stream"]) => (written: string) => {
      const { text } = redact({ stream, text: written });
      this.tail.add(text);
      this.thrown.add({ stream, text });
      onLine({ stream, text });
      logger.debug({ provider: name, stream, text }, "provider wrote a line");
    };
    this.stderr = new LineSplitter(take("stderr"));
    this.#stdout = new LineSplitter(take("stdout"));
    this.port = new PortLine((chunk) => this.#stdout.push(chunk));
  }

  end(): void {
    this.#stdout.end();
    this.stderr.end();
  }
}

function endedEarly(
  { command }: ResolvedLaunchOptions,
  exit: ProcessExit,
  tail: LineTail,
): MuxError {
  const text = `${command} ended with ${describeExit(exit)} before it was ready${tail.text}`;
  return new MuxError("MUX_PROCESS_ENDED", text);
}

class ProviderProcess implements LaunchedProvider {
  readonly provider: ResourceProvider;
  readonly handshake: ProviderHandshakeResponse | undefined;
  readonly port: number;
  readonly exited: Promise<ProcessExit>;
  readonly #options: ResolvedLaunchOptions;
  readonly #process: SupervisedProcess;
  readonly #connection: Connection;
  readonly #tail: LineTail;
  #closing: Promise<void> | undefined;

  constructor(
    options: ResolvedLaunchOptions,
    child: SupervisedProcess,
    connection: Connection,
    port: number,
    { tail, thrown }: ProcessOutput,
  ) {
    this.#options = options;
    this.#process = child;
    this.#connection = connection;
    this.#tail = tail;
    this.port = port;
    this.handshake = connection.handshake;
    const delegated = delegateProvider({
      target: () => this.#alive(),
      explain: (error) => this.#explain(error),
    });
    this.provider = {
      ...delegated,
      parameterize: async (request, context) =>
        thrown.orAnswerOf(
          async (signal) => delegated.parameterize(request, { ...context, signal }),
          context.signal,
        ),
    };
    this.exited = child.exited.then(async (exit) => {
      if (this.#closing === undefined) {
        options.logger.error(
          { provider: options.command, exit, lastLines: tail.text },
          "provider process ended without having been asked to",
        );
      }
      await connection.channel.close();
      return exit;
    });
  }

  get pid(): number | undefined {
    return this.#process.pid;
  }

  get group(): number {
    return this.#process.group;
  }

  get exit(): ProcessExit | undefined {
    return this.#process.exit;
  }

  async kill(): Promise<ProcessExit> {
    await this.#process.kill();
    return this.exited;
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #alive(): ResourceProvider {
    const { exit } = this;
    if (exit === undefined) return this.#connection.client;
    const text = `${this.#options.command} has ended with ${describeExit(exit)}${this.#tail.text}`;
    throw new MuxError("MUX_PROCESS_ENDED", text);
  }

  /** A connection that is lost because the process ended says nothing of what the call did. */
  async #explain(error: unknown): Promise<unknown> {
    const { code } = RpcError.from(error);
    if (code !== "UNAVAILABLE" && code !== "CANCELLED" && code !== "INTERNAL") return error;
    if (code !== "UNAVAILABLE" && this.exit === undefined) return error;
    const exit = this.exit ?? (await this.#exitSoon());
    if (exit === undefined) return error;
    const text = `${this.#options.command} ended with ${describeExit(exit)} during the call${this.#tail.text}`;
    return new MuxError("MUX_PROCESS_CRASHED", text, { cause: error });
  }

  async #exitSoon(): Promise<ProcessExit | undefined> {
    const { promise, resolve } = deferred<undefined>();
    const timer = this.#options.clock.after(EXIT_LAG_MS, () => resolve(undefined));
    try {
      return await Promise.race([this.#process.exited, promise]);
    } finally {
      timer[Symbol.dispose]();
    }
  }

  async #close(): Promise<void> {
    const { logger, command, clock, cancelTimeoutMs, graceMs } = this.#options;
    if (this.exit === undefined && cancelTimeoutMs > 0) {
      const late = new AbortController();
      const timer = clock.after(cancelTimeoutMs, () => late.abort());
      try {
        await this.#connection.client.cancel({}, { signal: late.signal });
      } catch (error) {
        // The process is ended either way; UNIMPLEMENTED is the answer of many.
        logger.debug({ provider: command, error }, "provider did not take Cancel");
      } finally {
        timer[Symbol.dispose]();
      }
    }
    await this.#connection.channel.close();
    const exit = await this.#process.end(graceMs);
    if (exit.signal === "SIGKILL") {
      logger.warn({ provider: command, exit }, "provider process had to be killed");
    }
  }
}

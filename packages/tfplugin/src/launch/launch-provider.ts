import { basename } from "node:path";
import { type Clock } from "@stackwright/base/clock";
import { MuxError } from "@stackwright/mux";
import {
  describeExit,
  findExecutable,
  LineSplitter,
  LineTail,
  type ProcessExit,
  SupervisedProcess,
} from "@stackwright/mux/host";
import {
  type ChannelTls,
  createSelfSignedIdentity,
  type RpcError,
  type TlsIdentity,
} from "@stackwright/proto/grpc";
import { TfpluginError } from "../errors.ts";
import { createGrpcTransport } from "../transport/grpc-transport.ts";
import type { PluginTransport } from "../transport/plugin-transport.ts";
import { type HandshakeLine, parseHandshakeLine } from "./handshake-line.ts";
import {
  type LaunchTerraformOptions,
  type ResolvedLaunch,
  resolveLaunch,
} from "./launch-options.ts";
import { parseLogLine } from "./log-line.ts";
import { PluginConnection } from "./plugin-connection.ts";
import { COOKIE_NAME, COOKIE_VALUE, PLUGIN_VARIABLES, TLS_NAME } from "./plugin-protocol.ts";
import { PrivateFolder, removeSocket } from "./private-folder.ts";
import { StartLimit } from "./start-limit.ts";

/** A provider process that has started and answers calls. */
export interface LaunchedTerraformProvider extends AsyncDisposable {
  /** Carries calls; closing it closes this. */
  readonly transport: PluginTransport;
  readonly protocol: 5 | 6;
  /** Pid of the provider itself, and the process group that it is in. */
  readonly pid: number | undefined;
  readonly group: number;
  /** Settles when the process has ended, for any reason; never rejects. */
  readonly exited: Promise<ProcessExit>;
  /** Present once the process has ended. */
  readonly exit: ProcessExit | undefined;
  /** Asks whether the provider is well; rejects with a `TfpluginError` where it is not. */
  checkHealth(signal?: AbortSignal): Promise<void>;
  /** Kills the process group at once, as an unexpected loss. */
  kill(): Promise<ProcessExit>;
  /**
   * Rejects the calls under way, asks the provider to shut down, then sends SIGTERM to its process group, and then
   * SIGKILL; removes its sockets. May be called again, and at any time.
   */
  close(): Promise<void>;
}

/** How long the end of a process may be behind the loss of its connection. */
const EXIT_LAG_MS = 1000;

/**
 * Starts a Terraform provider and connects to it, encrypted by certificates that both sides make for this one
 * connection. Resolves when it has answered; a start that fails leaves no process, socket or folder behind. The
 * process and what it starts end with this process, even if that is killed.
 *
 * Rejects with the signal's reason or a `TfpluginError`: `TFPLUGIN_PROGRAM_NOT_FOUND`, `TFPLUGIN_START_TIMEOUT`,
 * `TFPLUGIN_START_EXITED` (the text has its last lines), `TFPLUGIN_HANDSHAKE_INVALID`, `TFPLUGIN_PROTOCOL_UNSUPPORTED`,
 * `TFPLUGIN_CERTIFICATE_MISSING`, `TFPLUGIN_CERTIFICATE_INVALID`, `TFPLUGIN_CONNECT_FAILED` (wrong certificates
 * included), `TFPLUGIN_UNHEALTHY`, `TFPLUGIN_OPTIONS_INVALID`.
 *
 * Source: HashiCorp's go-plugin as Terraform 1.11 uses it.
 */
export async function launchTerraformProvider(
  options: LaunchTerraformOptions,
): Promise<LaunchedTerraformProvider> {
  const launch = resolveLaunch(options);
  launch.signal?.throwIfAborted();
  const path = await asNotFound(launch, () => findExecutable(launch.command, launch));
  const identity = createSelfSignedIdentity({ name: TLS_NAME });
  const output = new ProviderOutput(launch);
  await using cleanup = new AsyncDisposableStack();
  const folder = cleanup.use(await PrivateFolder.create(launch.runtimeDirectory));
  const child = await asNotFound(launch, () =>
    SupervisedProcess.start({
      path,
      args: launch.args,
      cwd: launch.cwd,
      env: environmentOf(launch, folder, identity),
      onStdout: output.pushStdout,
      onStderr: output.pushStderr,
      clock: launch.clock,
    }),
  );
  let socket: string | undefined;
  cleanup.defer(async () => {
    await child.kill();
    if (socket !== undefined) await removeSocket(socket);
  });
  using limit = new StartLimit({
    clock: launch.clock,
    timeoutMs: launch.startTimeoutMs,
    name: launch.command,
    missing: "wrote no handshake",
    signal: launch.signal,
  });
  const ended = child.exited.then((exit): never => {
    output.end();
    throw exitedEarly(launch, exit, output.tail);
  });
  const handshake = await limit.bound(Promise.race([output.handshake, ended]));
  if ("socketPath" in handshake.address) socket = handshake.address.socketPath;
  // A provider that has none of the versions on offer names one of its own.
  if (!launch.protocols.includes(handshake.protocol)) {
    const text = `${launch.command} speaks version ${handshake.protocol} of the provider protocol, ${launch.protocols.join(" and ")} was offered`;
    throw new TfpluginError("TFPLUGIN_PROTOCOL_UNSUPPORTED", text, { provider: launch.command });
  }
  limit.waitFor("did not answer");
  const tls = tlsOf(launch, handshake, identity);
  const connection = await connect({ launch, handshake, tls, output, child, ended, limit });
  return new ProviderProcess({
    launch,
    protocol: handshake.protocol,
    child,
    connection,
    tail: output.tail,
    cleanup: cleanup.move(),
  });
}

/** An error of the process's start, as one of this package. */
async function asNotFound<T>({ command }: ResolvedLaunch, start: () => Promise<T>): Promise<T> {
  try {
    return await start();
  } catch (error) {
    if (!(error instanceof MuxError)) throw error;
    throw new TfpluginError("TFPLUGIN_PROGRAM_NOT_FOUND", error.message, {
      cause: error,
      provider: command,
    });
  }
}

function environmentOf(
  { env, protocols }: ResolvedLaunch,
  folder: PrivateFolder,
  identity: TlsIdentity,
): NodeJS.ProcessEnv {
  return {
    HOME: folder.path,
    TMPDIR: folder.path,
    ...env,
    [COOKIE_NAME]: COOKIE_VALUE,
    [PLUGIN_VARIABLES.protocolVersions]: protocols.join(","),
    [PLUGIN_VARIABLES.minPort]: "10000",
    [PLUGIN_VARIABLES.maxPort]: "25000",
    [PLUGIN_VARIABLES.clientCertificate]: String(identity.certificate),
    [PLUGIN_VARIABLES.socketDirectory]: folder.path,
  };
}

function tlsOf(
  { allowPlaintext, command }: ResolvedLaunch,
  { certificate }: HandshakeLine,
  identity: TlsIdentity,
): ChannelTls | undefined {
  if (certificate !== undefined) return { trusted: certificate, identity, serverName: TLS_NAME };
  if (allowPlaintext) return undefined;
  const text = `${command} does not encrypt its connection although it was offered a certificate`;
  throw new TfpluginError("TFPLUGIN_CERTIFICATE_MISSING", text, { provider: command });
}

async function connect(start: {
  readonly launch: ResolvedLaunch;
  readonly handshake: HandshakeLine;
  readonly tls: ChannelTls | undefined;
  readonly output: ProviderOutput;
  readonly child: SupervisedProcess;
  readonly ended: Promise<never>;
  readonly limit: StartLimit;
}): Promise<PluginConnection> {
  const { launch, handshake, tls, output, child, ended, limit } = start;
  const given = new AbortController();
  const connecting = PluginConnection.open({
    address: handshake.address,
    tls,
    name: launch.command,
    carrier: launch.carrier,
    maxMessageBytes: launch.maxMessageBytes,
    logger: launch.logger,
    onOutput: output.take,
    signal: AbortSignal.any([limit.signal, given.signal]),
  });
  try {
    return await limit.bound(Promise.race([connecting, ended]));
  } catch (error) {
    // A connection that comes too late is not kept.
    given.abort();
    await connecting.then((late) => late.close()).catch(() => undefined);
    // That the process has ended says more than that no process answers.
    const isLost = TfpluginError.is(error, "TFPLUGIN_CONNECT_FAILED");
    const exit = isLost ? await exitSoon(child, launch.clock) : undefined;
    throw exit === undefined ? error : exitedEarly(launch, exit, output.tail);
  }
}

function exitedEarly(launch: ResolvedLaunch, exit: ProcessExit, tail: LineTail): TfpluginError {
  const { command } = launch;
  const text = `${command} ended with ${describeExit(exit)} before it was ready${tail.text}`;
  return new TfpluginError("TFPLUGIN_START_EXITED", text, { provider: command });
}

async function exitSoon(child: SupervisedProcess, clock: Clock): Promise<ProcessExit | undefined> {
  return child.exit ?? (await within(child.exited, EXIT_LAG_MS, clock));
}

/** The value of the promise, which never rejects, or undefined when it takes longer. */
async function within<T>(promise: Promise<T>, ms: number, clock: Clock): Promise<T | undefined> {
  const { promise: late, resolve } = Promise.withResolvers<undefined>();
  const timer = clock.after(ms, () => resolve(undefined));
  try {
    return await Promise.race([promise, late]);
  } finally {
    timer[Symbol.dispose]();
  }
}

/** What a provider writes: its handshake, and its log. */
class ProviderOutput {
  readonly tail = new LineTail();
  readonly handshake: Promise<HandshakeLine>;
  readonly #settle: PromiseWithResolvers<HandshakeLine> = Promise.withResolvers();
  readonly #launch: ResolvedLaunch;
  readonly #stdout: LineSplitter;
  readonly #stderr: LineSplitter;
  #isFirst = true;

  constructor(launch: ResolvedLaunch) {
    this.#launch = launch;
    this.handshake = this.#settle.promise;
    // A start can fail before its first wait.
    this.handshake.catch(() => undefined);
    this.#stderr = new LineSplitter(this.take);
    this.#stdout = new LineSplitter((line) => {
      if (this.#isFirst) this.#shakeHands(line);
      else this.take(line);
    });
  }

  readonly pushStdout = (chunk: Buffer): void => this.#stdout.push(chunk);
  readonly pushStderr = (chunk: Buffer): void => this.#stderr.push(chunk);

  /** One line of the log. */
  readonly take = (line: string): void => {
    const { onLog, redact, logger, command } = this.#launch;
    const entry = redact(parseLogLine(line));
    this.tail.add(entry.message);
    onLog(entry);
    const level = entry.level === "trace" ? "debug" : entry.level;
    logger[level]({ provider: basename(command), ...entry }, "provider log");
  };

  end(): void {
    this.#stdout.end();
    this.#stderr.end();
  }

  #shakeHands(line: string): void {
    this.#isFirst = false;
    try {
      this.#settle.resolve(parseHandshakeLine(line));
    } catch (error) {
      this.#settle.reject(error);
    }
  }
}

interface Started {
  readonly launch: ResolvedLaunch;
  readonly protocol: 5 | 6;
  readonly child: SupervisedProcess;
  readonly connection: PluginConnection;
  readonly tail: LineTail;
  /** Kills what is left of the process and removes its files. */
  readonly cleanup: AsyncDisposableStack;
}

class ProviderProcess implements LaunchedTerraformProvider {
  readonly transport: PluginTransport;
  readonly protocol: 5 | 6;
  readonly exited: Promise<ProcessExit>;
  readonly #started: Started;
  #isClosing = false;

  constructor(started: Started) {
    const { launch, protocol, child, connection } = started;
    this.#started = started;
    this.protocol = protocol;
    this.transport = createGrpcTransport({
      channel: connection.channel,
      protocol,
      name: launch.command,
      ended: () => this.#ended(),
      explain: (lost) => this.#explain(lost),
      onClose: () => this.#end(),
    });
    this.exited = child.exited.then((exit) => this.#afterExit(exit));
  }

  get pid(): number | undefined {
    return this.#started.child.pid;
  }

  get group(): number {
    return this.#started.child.group;
  }

  get exit(): ProcessExit | undefined {
    return this.#started.child.exit;
  }

  async checkHealth(signal?: AbortSignal): Promise<void> {
    const ended = this.#ended();
    if (ended !== undefined) throw ended;
    await this.#started.connection.checkHealth(signal ?? new AbortController().signal);
  }

  async kill(): Promise<ProcessExit> {
    await this.#started.child.kill();
    return this.exited;
  }

  close(): Promise<void> {
    return this.transport.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #afterExit(exit: ProcessExit): Promise<ProcessExit> {
    const { launch, connection, tail, cleanup } = this.#started;
    if (!this.#isClosing) {
      const data = { provider: launch.command, exit, lastLines: tail.text };
      launch.logger.error(data, "provider process ended without having been asked to");
    }
    await connection.close();
    await cleanup.disposeAsync();
    return exit;
  }

  #ended(): TfpluginError | undefined {
    const { launch, child, tail } = this.#started;
    if (child.exit === undefined) return undefined;
    const text = `${launch.command} has ended with ${describeExit(child.exit)}${tail.text}`;
    return new TfpluginError("TFPLUGIN_PROCESS_ENDED", text, { provider: launch.command });
  }

  /** A connection that is lost because the process ended says nothing of what the call did. */
  async #explain(lost: RpcError): Promise<TfpluginError | undefined> {
    const { launch, child, tail } = this.#started;
    const { command } = launch;
    const exit = lost.code === "UNAVAILABLE" ? await exitSoon(child, launch.clock) : child.exit;
    if (exit === undefined) return undefined;
    const text = `${command} ended with ${describeExit(exit)} during the call${tail.text}`;
    const options = { cause: lost, provider: command };
    return new TfpluginError("TFPLUGIN_PROCESS_CRASHED", text, options);
  }

  async #end(): Promise<void> {
    this.#isClosing = true;
    const { launch, child, connection } = this.#started;
    const { clock, logger, command, shutdownTimeoutMs, graceMs } = launch;
    if (child.exit === undefined && shutdownTimeoutMs > 0) {
      const late = new AbortController();
      const timer = clock.after(shutdownTimeoutMs, () => late.abort());
      await connection.shutdown(late.signal);
      timer[Symbol.dispose]();
      if (!late.signal.aborted) await within(child.exited, shutdownTimeoutMs, clock);
    }
    if (child.exit === undefined) {
      // A process that is stopped would not see the request.
      child.signal("SIGCONT");
      child.signal("SIGTERM");
      await within(child.exited, graceMs, clock);
    }
    if (child.exit === undefined) {
      logger.warn({ provider: command }, "provider process has to be killed");
      await child.kill();
    }
    await this.exited;
  }
}

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { MuxError } from "@stackwright/mux";
import { adaptPulumiProvider } from "@stackwright/mux/adapters";
import {
  type LaunchedProvider,
  launchProvider,
  type PackageParameters,
  parameterizeProvider,
  startEngineHost,
} from "@stackwright/mux/host";
import type { PluginTransport } from "@stackwright/tfplugin";
import { stackEnvironment } from "@stackwright/tfplugin/launch";
import { serveLifecycleProvider } from "@stackwright/tfplugin/serve";
import { FgBridgeError } from "../errors.ts";
import { checkDigest } from "./check-digest.ts";
import type { ProviderRunner, RunningProvider, StartOptions } from "./provider-runner.ts";
import { callProvider } from "./transport-provider.ts";

export interface PulumiRunnerOptions {
  /** Path of the plug-in's program. No shell sees it. */
  readonly command: string;
  /** Before those of the protocol. @default none */
  readonly args?: readonly string[];
  /** Of the program, hexadecimal; what differs is not run. @default not checked */
  readonly sha256?: string;
  /**
   * Makes another package of the plug-in, in each process before anything else is asked of it. Words may mean another version the next
   * time; a recorded value does not.
   *
   * @default it is what it is
   */
  readonly parameters?: PackageParameters;
  /**
   * Variables that the plug-in gets. Of this process's own it gets only `PATH` and what says how the network is reached: neither the
   * platform's credentials nor anything else.
   */
  readonly env?: Readonly<Record<string, string>>;
  /** Where the private folder of each process is made, which is also its home. @default the system's */
  readonly temporaryDirectory?: string;
  /** From the start of the process to its first answer, in milliseconds. @default 20_000 */
  readonly startTimeoutMs?: number;
}

/**
 * Runs a plug-in of Pulumi behind the contract: one process per start, with a clean environment and an engine to call back, parameterized
 * where that is asked for. Its types are named as those of a plug-in in a template; what the contract does not carry is left out.
 *
 * @throws FgBridgeError `FG_PROVIDER_START_FAILED` if the program is not the one that was meant
 */
export async function createPulumiRunner(options: PulumiRunnerOptions): Promise<ProviderRunner> {
  const { command, sha256 } = options;
  if (sha256 !== undefined) await checkDigest(command, sha256);
  return { name: command, start: async (start) => startPlugin(options, start) };
}

async function startPlugin(
  options: PulumiRunnerOptions,
  { signal, onLog }: StartOptions,
): Promise<RunningProvider> {
  const { command, args = [], parameters, startTimeoutMs = 20_000 } = options;
  signal.throwIfAborted();
  await using cleanup = new AsyncDisposableStack();
  const folder = await mkdtemp(join(options.temporaryDirectory ?? tmpdir(), "fg-"));
  cleanup.defer(() => rm(folder, { recursive: true, force: true, maxRetries: 3 }));
  const engine = cleanup.use(await startEngineHost({ onLog: ({ message }) => onLog?.(message) }));
  try {
    const launched = cleanup.use(
      await launchProvider({
        command,
        args,
        cwd: folder,
        env: cleanEnvironment(folder, options.env),
        engineAddress: engine.address,
        startTimeoutMs,
        cancelTimeoutMs: 0,
        graceMs: 2000,
        signal,
        onLine: ({ text }) => onLog?.(text),
      }),
    );
    const provider =
      parameters === undefined
        ? launched.provider
        : await parameterizeProvider(launched.provider, parameters, { signal });
    const adapted = adaptPulumiProvider(provider);
    return new RunningPlugin(
      launched,
      serveLifecycleProvider(adapted, { protocol: 5 }),
      cleanup.move(),
    );
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof MuxError)) throw error;
    throw new FgBridgeError("FG_PROVIDER_START_FAILED", `${command}: ${error.message}`, {
      cause: error,
      outcome: "not-applied",
      // What it said to its parameters it says again.
      ...(error.code === "MUX_PARAMETERS_REFUSED" && { retryable: false }),
    });
  }
}

/** All variables of this process are taken out; what a plug-in installs is in its own home, and goes with it. */
function cleanEnvironment(
  home: string,
  variables: PulumiRunnerOptions["env"] = {},
): Readonly<Record<string, string | undefined>> {
  const none = Object.keys(process.env).map((name) => [name, undefined] as const);
  return {
    ...Object.fromEntries(none),
    HOME: home,
    ...stackEnvironment({ variables, own: process.env }),
  };
}

class RunningPlugin implements RunningProvider {
  readonly #launched: LaunchedProvider;
  readonly #transport: PluginTransport;
  readonly #cleanup: AsyncDisposableStack;
  #ended: Promise<void> | undefined;

  constructor(
    launched: LaunchedProvider,
    transport: PluginTransport,
    cleanup: AsyncDisposableStack,
  ) {
    this.#launched = launched;
    this.#transport = transport;
    this.#cleanup = cleanup;
  }

  get pid(): number | undefined {
    return this.#launched.pid;
  }

  get isAlive(): boolean {
    return this.#ended === undefined && this.#launched.exit === undefined;
  }

  async call(
    method: string,
    request: Uint8Array,
    { signal }: { readonly signal: AbortSignal },
  ): Promise<Uint8Array> {
    return callProvider(this.#transport, method, request, signal);
  }

  async end({ kill = false }: { readonly kill?: boolean } = {}): Promise<void> {
    this.#ended ??= this.#end(kill);
    return this.#ended;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    return this.end();
  }

  async #end(kill: boolean): Promise<void> {
    try {
      if (kill) await this.#launched.kill();
      await this.#transport.close();
    } finally {
      await this.#cleanup.disposeAsync();
    }
  }
}

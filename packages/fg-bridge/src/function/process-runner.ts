import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  createPluginClient,
  type PluginTransport,
  TfpluginError,
  type TfpluginErrorCode,
} from "@stackwright/tfplugin";
import {
  type LaunchedTerraformProvider,
  launchTerraformProvider,
  stackEnvironment,
} from "@stackwright/tfplugin/launch";
import { serveLifecycleProvider } from "@stackwright/tfplugin/serve";
import { FgBridgeError, type FgBridgeErrorCode } from "../errors.ts";
import { checkDigest } from "./check-digest.ts";
import type { ProviderRunner, RunningProvider, StartOptions } from "./provider-runner.ts";
import { callProvider } from "./transport-provider.ts";

export interface ProcessRunnerOptions {
  /** Path of the provider's program. It gets no arguments, and no shell sees it. */
  readonly command: string;
  /** Of the program, hexadecimal; what differs is not run. @default not checked */
  readonly sha256?: string;
  /**
   * Variables that the provider gets. Of this process's own it gets only `PATH` and what says how the network is
   * reached: neither the platform's credentials nor anything else.
   */
  readonly env?: Readonly<Record<string, string>>;
  /** Where the private folder of each process is made. @default the system's */
  readonly temporaryDirectory?: string;
  /**
   * Translates a provider that has protocol 6 alone, where its schema allows it: without attributes that have nested
   * attributes. Messages are then decoded and encoded again. @default false: such a provider is refused
   */
  readonly downgrade?: boolean;
  /** From the start of the process to its first answer, in milliseconds. @default 20_000 */
  readonly startTimeoutMs?: number;
  /** How long a process may take to end by itself. @default 2000 */
  readonly shutdownTimeoutMs?: number;
}

/** Codes of a start that failed; nothing was asked of the provider yet. */
const START_CODES: ReadonlyMap<TfpluginErrorCode, FgBridgeErrorCode> = new Map([
  ["TFPLUGIN_PROTOCOL_UNSUPPORTED", "FG_PROTOCOL_REFUSED"],
]);

/**
 * Runs a real provider binary: one process per start, in a process group, a working folder and a home of its own, with a
 * clean environment. Only protocol 5 is offered, since the contract carries no other; a program that has none is
 * refused.
 *
 * @throws FgBridgeError `FG_PROVIDER_START_FAILED` if the program is not the one that was meant
 */
export async function createProcessRunner(options: ProcessRunnerOptions): Promise<ProviderRunner> {
  const { command, sha256 } = options;
  if (sha256 !== undefined) await checkDigest(command, sha256);
  return { name: command, start: (start) => startProcess(options, start) };
}

async function startProcess(
  options: ProcessRunnerOptions,
  { signal, onLog }: StartOptions,
): Promise<RunningProvider> {
  const { command, env = {}, temporaryDirectory = tmpdir() } = options;
  signal.throwIfAborted();
  await using cleanup = new AsyncDisposableStack();
  const folder = await mkdtemp(join(temporaryDirectory, "fg-"));
  cleanup.defer(() => rm(folder, { recursive: true, force: true, maxRetries: 3 }));
  let launched: LaunchedTerraformProvider;
  try {
    launched = await launchTerraformProvider({
      command,
      protocols: options.downgrade === true ? [5, 6] : [5],
      cwd: folder,
      env: stackEnvironment({ variables: env, own: process.env }),
      runtimeDirectory: folder,
      startTimeoutMs: options.startTimeoutMs ?? 20_000,
      shutdownTimeoutMs: options.shutdownTimeoutMs ?? 2000,
      signal,
      ...(onLog === undefined ? {} : { onLog: ({ message }) => onLog(message) }),
    });
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof TfpluginError)) throw error;
    const code = START_CODES.get(error.code) ?? "FG_PROVIDER_START_FAILED";
    throw new FgBridgeError(code, error.message, { cause: error, outcome: "not-applied" });
  }
  return new ProviderProcess(launched, cleanup.move());
}

class ProviderProcess implements RunningProvider {
  readonly #launched: LaunchedTerraformProvider;
  readonly #transport: PluginTransport;
  readonly #cleanup: AsyncDisposableStack;
  #ended: Promise<void> | undefined;

  constructor(launched: LaunchedTerraformProvider, cleanup: AsyncDisposableStack) {
    this.#launched = launched;
    this.#transport =
      launched.protocol === 5
        ? launched.transport
        : serveLifecycleProvider(createPluginClient(launched.transport), { protocol: 5 });
    this.#cleanup = cleanup;
  }

  get pid(): number | undefined {
    return this.#launched.pid;
  }

  get isAlive(): boolean {
    return this.#ended === undefined && this.#launched.exit === undefined;
  }

  call(
    method: string,
    request: Uint8Array,
    { signal }: { readonly signal: AbortSignal },
  ): Promise<Uint8Array> {
    return callProvider(this.#transport, method, request, signal);
  }

  end(options: { readonly kill?: boolean } = {}): Promise<void> {
    this.#ended ??= this.#end(options.kill ?? false);
    return this.#ended;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.end();
  }

  async #end(kill: boolean): Promise<void> {
    try {
      if (kill) await this.#launched.kill();
      await this.#launched.close();
    } finally {
      await this.#cleanup.disposeAsync();
    }
  }
}

import { tmpdir } from "node:os";
import { type Clock, systemClock } from "@stackwright/base/clock";
import { type Logger, silentLogger } from "@stackwright/base/logger";
import { TfpluginError } from "../errors.ts";
import { type Environment, inheritedEnvironment } from "./environment.ts";
import type { ProviderLogEntry } from "./log-line.ts";
import { DEFAULT_MAX_MESSAGE_BYTES, PLUGIN_PROTOCOLS } from "./plugin-protocol.ts";

export interface LaunchTerraformOptions {
  /** Path of the provider's program, or a name to be found in `PATH` of its environment. */
  readonly command: string;
  /** @default none; Terraform gives none */
  readonly args?: readonly string[];
  /** @default the present one */
  readonly cwd?: string;
  /**
   * The whole environment of the provider, from `inheritedEnvironment` or `stackEnvironment`. Where it has no `HOME`
   * or no `TMPDIR`, a private folder takes their place, which goes with the process.
   * @default the environment of this process
   */
  readonly env?: Environment;
  /** Where the private folder of the process is made, which has its sockets. @default that of the system for temporary files */
  readonly runtimeDirectory?: string;
  /** Versions of the provider protocol to offer; a provider that has none of them is refused. @default 5 and 6 */
  readonly protocols?: readonly (5 | 6)[];
  /** Connects to a provider that does not encrypt although it was offered a certificate. @default false */
  readonly allowPlaintext?: boolean;
  /** From the start of the process to the first answer, in milliseconds. @default 60_000 */
  readonly startTimeoutMs?: number;
  /** How long the answer to Shutdown may take, and the process to end after it. @default 2_000 */
  readonly shutdownTimeoutMs?: number;
  /** From SIGTERM to SIGKILL, in milliseconds. @default 2_000 */
  readonly graceMs?: number;
  /** Largest message in either direction. @default 256 MiB */
  readonly maxMessageBytes?: number;
  /**
   * What carries the calls: see `ChannelInit` of `@stackwright/proto/grpc`. grpc-js takes several times the processor time;
   * it is there for a provider that does not get along with frames.
   * @default "frames"
   */
  readonly carrier?: "frames" | "grpc-js";
  /** Is given the provider's log, at the pace of the provider: it must not wait. */
  readonly onLog?: (entry: ProviderLogEntry) => void;
  /** Cleans each entry before it is passed on; that includes the last lines that explain an end. @default nothing */
  readonly redact?: (entry: ProviderLogEntry) => ProviderLogEntry;
  /** Gets the provider's log too, and what happens to the process. @default drops everything */
  readonly logger?: Logger;
  /** Gives the start up. A provider that has started is closed by its owner. */
  readonly signal?: AbortSignal;
  /** @default the clock of the process */
  readonly clock?: Clock;
}

export interface ResolvedLaunch {
  readonly command: string;
  readonly args: readonly string[];
  readonly cwd: string;
  readonly env: Environment;
  readonly runtimeDirectory: string;
  readonly protocols: readonly (5 | 6)[];
  readonly allowPlaintext: boolean;
  readonly startTimeoutMs: number;
  readonly shutdownTimeoutMs: number;
  readonly graceMs: number;
  readonly maxMessageBytes: number;
  readonly carrier: "frames" | "grpc-js";
  readonly onLog: (entry: ProviderLogEntry) => void;
  readonly redact: (entry: ProviderLogEntry) => ProviderLogEntry;
  readonly logger: Logger;
  readonly signal: AbortSignal | undefined;
  readonly clock: Clock;
}

/** Fills in what is left out. `TFPLUGIN_OPTIONS_INVALID` for numbers that are none. */
export function resolveLaunch(options: LaunchTerraformOptions): ResolvedLaunch {
  const numbers = {
    startTimeoutMs: options.startTimeoutMs ?? 60_000,
    shutdownTimeoutMs: options.shutdownTimeoutMs ?? 2000,
    graceMs: options.graceMs ?? 2000,
    maxMessageBytes: options.maxMessageBytes ?? DEFAULT_MAX_MESSAGE_BYTES,
  };
  for (const [name, value] of Object.entries(numbers)) {
    if (!(value >= 0)) {
      const text = `${name} must be 0 or more and is ${value}`;
      throw new TfpluginError("TFPLUGIN_OPTIONS_INVALID", text);
    }
  }
  return {
    ...numbers,
    command: options.command,
    args: options.args ?? [],
    cwd: options.cwd ?? process.cwd(),
    env: inheritedEnvironment(options.env ?? process.env),
    runtimeDirectory: options.runtimeDirectory ?? tmpdir(),
    protocols: options.protocols ?? PLUGIN_PROTOCOLS,
    allowPlaintext: options.allowPlaintext ?? false,
    carrier: options.carrier ?? "frames",
    onLog: options.onLog ?? (() => undefined),
    redact: options.redact ?? ((entry) => entry),
    logger: options.logger ?? silentLogger,
    signal: options.signal,
    clock: options.clock ?? systemClock,
  };
}

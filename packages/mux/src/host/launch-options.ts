import { dirname } from "node:path";
import { type Clock, systemClock } from "@stackwright/base/clock";
import { type Logger, silentLogger } from "@stackwright/base/logger";
import { ProviderHandshakeRequest } from "@stackwright/proto/pulumirpc";
import { MuxError } from "../errors.ts";

/** A line that a provider wrote, other than its port. */
export interface ProcessLine {
  readonly stream: "stdout" | "stderr";
  readonly text: string;
}

/** What the engine says of itself in the handshake; the addresses and folders are filled in. */
export type EngineFeatures = Partial<
  Omit<ProviderHandshakeRequest, "engineAddress" | "rootDirectory" | "programDirectory">
>;

export interface LaunchOptions {
  /** A path, or a name to be found in `PATH`. */
  readonly command: string;
  /** Arguments before the engine's address. @default none */
  readonly args?: readonly string[];
  /** Working directory. @default the present one */
  readonly cwd?: string;
  /** Added to the environment of this process; `undefined` takes a variable out. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** `host:port` of the engine that the provider calls back; without it the provider gets none. */
  readonly engineAddress?: string;
  readonly handshake?: EngineFeatures;
  /** From the start of the process to the end of the handshake, in milliseconds. @default 10_000 */
  readonly startTimeoutMs?: number;
  /** Time for an answer to Cancel when the provider is closed. @default 5_000 */
  readonly cancelTimeoutMs?: number;
  /** From SIGINT to SIGKILL when the provider is closed; halfway SIGTERM is sent. @default 5_000 */
  readonly graceMs?: number;
  /** Is given every line that the provider writes. It is called at the pace of the provider: it must not wait. */
  readonly onLine?: (line: ProcessLine) => void;
  /** Cleans each line before it is passed on; that includes the last ones, which explain an end. @default nothing */
  readonly redact?: (line: ProcessLine) => ProcessLine;
  /** Gets the lines too (at `debug`), and what happens to the process. @default drops everything */
  readonly logger?: Logger;
  /** Gives the start up. A provider that has started is closed by its owner. */
  readonly signal?: AbortSignal;
  /** @default the clock of the process */
  readonly clock?: Clock;
}

export interface ResolvedLaunchOptions {
  readonly command: string;
  readonly args: readonly string[];
  readonly cwd: string;
  readonly env: NodeJS.ProcessEnv;
  readonly engineAddress: string | undefined;
  readonly handshake: EngineFeatures;
  readonly startTimeoutMs: number;
  readonly cancelTimeoutMs: number;
  readonly graceMs: number;
  readonly onLine: (line: ProcessLine) => void;
  readonly redact: (line: ProcessLine) => ProcessLine;
  readonly logger: Logger;
  readonly signal: AbortSignal | undefined;
  readonly clock: Clock;
}

/** Fills in what is left out. `MUX_OPTIONS_INVALID` for times that are no times. */
export function resolveLaunchOptions(options: LaunchOptions): ResolvedLaunchOptions {
  const { startTimeoutMs = 10_000, cancelTimeoutMs = 5000, graceMs = 5000 } = options;
  for (const [name, value] of Object.entries({ startTimeoutMs, cancelTimeoutMs, graceMs })) {
    if (!(value >= 0)) {
      throw new MuxError("MUX_OPTIONS_INVALID", `${name} must be 0 or more and is ${value}`);
    }
  }
  const env = { ...process.env, ...options.env };
  for (const [name, value] of Object.entries(env)) if (value === undefined) delete env[name];
  return {
    command: options.command,
    args: options.args ?? [],
    cwd: options.cwd ?? process.cwd(),
    env,
    engineAddress: options.engineAddress,
    handshake: options.handshake ?? {},
    startTimeoutMs,
    cancelTimeoutMs,
    graceMs,
    onLine: options.onLine ?? (() => undefined),
    redact: options.redact ?? ((line) => line),
    logger: options.logger ?? silentLogger,
    signal: options.signal,
    clock: options.clock ?? systemClock,
  };
}

/** The handshake with a process that was started from `path`. */
export function handshakeOf(
  { handshake, engineAddress, cwd }: ResolvedLaunchOptions,
  path: string,
): ProviderHandshakeRequest {
  return ProviderHandshakeRequest.create({
    ...DEFAULT_ABILITIES,
    ...handshake,
    engineAddress: engineAddress ?? "",
    rootDirectory: dirname(path),
    programDirectory: cwd,
  });
}

/** What a caller of this package can do unless it says otherwise. */
export const DEFAULT_ABILITIES: EngineFeatures = {
  configureWithUrn: true,
  invokeWithPreview: true,
};

import { systemClock } from "@stackwright/base/clock";
import { type Logger, silentLogger } from "@stackwright/base/logger";
import type { RpcAddress } from "@stackwright/proto/grpc";
import { ProviderAddress } from "@stackwright/provider-source";
import { TfpluginError } from "../errors.ts";
import { createGrpcTransport } from "../transport/grpc-transport.ts";
import type { PluginTransport } from "../transport/plugin-transport.ts";
import { type ProviderLogEntry, parseLogLine } from "./log-line.ts";
import { PluginConnection } from "./plugin-connection.ts";
import { DEFAULT_MAX_MESSAGE_BYTES } from "./plugin-protocol.ts";
import { StartLimit } from "./start-limit.ts";

/** Where a provider listens that another program has started, under a debugger perhaps. */
export interface ReattachTarget {
  readonly protocol: 5 | 6;
  readonly address: RpcAddress;
  readonly pid: number | undefined;
}

/**
 * Reads `TF_REATTACH_PROVIDERS`: a JSON object from provider address to where that provider listens. An empty text
 * names none. Keys of the result are canonical addresses. `TFPLUGIN_REATTACH_INVALID`.
 *
 * Source: Terraform's reattach configuration.
 */
export function parseReattachProviders(text: string): ReadonlyMap<string, ReattachTarget> {
  const targets = new Map<string, ReattachTarget>();
  if (text.trim() === "") return targets;
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch (cause) {
    throw invalid("it is not valid JSON", cause);
  }
  if (!isRecord(parsed)) throw invalid("it is not a JSON object");
  for (const [key, entry] of Object.entries(parsed)) {
    let address: string;
    try {
      address = ProviderAddress.parse(key).toString();
    } catch (cause) {
      throw invalid(`${JSON.stringify(key)} is not a valid provider address`, cause);
    }
    if (targets.has(address)) throw invalid(`${address} is given twice`);
    targets.set(address, parseTarget(key, entry));
  }
  return targets;
}

function parseTarget(key: string, entry: unknown): ReattachTarget {
  if (!isRecord(entry)) throw invalid(`the entry of ${key} is not an object`);
  const { Protocol: transport, ProtocolVersion: version = 5, Pid: pid, Addr: at } = entry;
  if (transport !== "grpc") throw invalid(`${key} does not talk grpc`);
  // Older providers leave the version out, which stands for 5.
  const protocol = version === 0 ? 5 : version;
  if (protocol !== 5 && protocol !== 6) throw invalid(`${key} has an unknown protocol version`);
  if (!isRecord(at) || typeof at.String !== "string") throw invalid(`${key} has no address`);
  return {
    protocol,
    address: parseAddress(key, at.Network, at.String),
    pid: typeof pid === "number" ? pid : undefined,
  };
}

function parseAddress(key: string, network: unknown, text: string): RpcAddress {
  if (network === "unix" && text !== "") return { socketPath: text };
  const groups = /^(?<host>.+):(?<port>\d+)$/.exec(text)?.groups;
  if (network === "tcp" && groups?.host !== undefined) {
    return { host: groups.host, port: Number(groups.port) };
  }
  throw invalid(`the address of ${key} is neither a unix socket nor host and port`);
}

export interface AttachTerraformOptions {
  readonly target: ReattachTarget;
  /** Address of the provider, for messages. */
  readonly name: string;
  /** Until the first answer, in milliseconds. @default 10_000 */
  readonly timeoutMs?: number;
  /** Largest message in either direction. @default 256 MiB */
  readonly maxMessageBytes?: number;
  /** See `LaunchTerraformOptions`. @default "frames" */
  readonly carrier?: "frames" | "grpc-js";
  readonly onLog?: (entry: ProviderLogEntry) => void;
  readonly logger?: Logger;
  readonly signal?: AbortSignal;
}

/**
 * Connects to a provider that is running, in the clear. Closing the transport closes the connection; the process goes
 * on. Rejects with the signal's reason or a `TfpluginError`: `TFPLUGIN_CONNECT_FAILED`, `TFPLUGIN_START_TIMEOUT`,
 * `TFPLUGIN_UNHEALTHY`.
 */
export async function attachTerraformProvider(
  options: AttachTerraformOptions,
): Promise<PluginTransport> {
  const { target, name, timeoutMs = 10_000, logger = silentLogger, onLog, signal } = options;
  using limit = new StartLimit({
    clock: systemClock,
    timeoutMs,
    name,
    missing: "did not answer",
    signal,
  });
  const connection = await PluginConnection.open({
    address: target.address,
    tls: undefined,
    name,
    maxMessageBytes: options.maxMessageBytes ?? DEFAULT_MAX_MESSAGE_BYTES,
    carrier: options.carrier ?? "frames",
    logger,
    onOutput: (line) => onLog?.(parseLogLine(line)),
    signal: limit.signal,
  });
  return createGrpcTransport({
    channel: connection.channel,
    protocol: target.protocol,
    name,
    onClose: () => connection.close(),
  });
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function invalid(why: string, cause?: unknown): TfpluginError {
  const text = `TF_REATTACH_PROVIDERS cannot be used: ${why}`;
  return new TfpluginError("TFPLUGIN_REATTACH_INVALID", text, { cause });
}

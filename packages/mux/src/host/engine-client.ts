import { createClient, openChannel, type RpcChannel, RpcError } from "@stackwright/proto/grpc";
import { HealthService } from "@stackwright/proto/health";
import { EngineService, LogSeverity } from "@stackwright/proto/pulumirpc";
import { MuxError } from "../errors.ts";
import type { HostClient, HostLogEntry } from "../host-client.ts";

/** The services of an engine that a provider may call back. */
export interface EngineClient extends HostClient, AsyncDisposable {
  /** URN of the stack's root resource; empty when there is none yet. */
  getRootResource(): Promise<string>;
  setRootResource(urn: string): Promise<void>;
  /** Whether the engine still answers. One without a health service does by saying so. */
  isAlive(): Promise<boolean>;
}

export interface DialOptions {
  /** Time for the connection, and for each call. @default 5_000 */
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
}

/** Severities as the wire has them. */
export const SEVERITIES = {
  debug: LogSeverity.DEBUG,
  info: LogSeverity.INFO,
  warning: LogSeverity.WARNING,
  error: LogSeverity.ERROR,
} as const;

/**
 * Connects to the engine at `host:port`. Rejects with `MUX_ENGINE_UNREACHABLE` when it cannot be reached in time.
 *
 * Source: the Engine service of Pulumi's protocol.
 */
export async function dialEngine(
  address: string,
  { timeoutMs = 5000, signal }: DialOptions = {},
): Promise<EngineClient> {
  const channel = openChannel(address.includes(":/") ? address : `dns:${address}`);
  try {
    await channel.waitForReady({ timeoutMs, ...(signal && { signal }) });
  } catch (cause) {
    await channel.close();
    signal?.throwIfAborted();
    const text = `there is no engine at ${address}`;
    throw new MuxError("MUX_ENGINE_UNREACHABLE", text, { cause });
  }
  return createEngineClient(channel, timeoutMs);
}

function createEngineClient(channel: RpcChannel, timeoutMs: number): EngineClient {
  const engine = createClient(EngineService, channel, { timeoutMs });
  const health = createClient(HealthService, channel, { timeoutMs });
  return {
    async log(entry: HostLogEntry) {
      const { severity, message, urn = "", streamId = 0, ephemeral = false } = entry;
      await engine.log({ severity: SEVERITIES[severity], message, urn, streamId, ephemeral });
    },
    async getRootResource() {
      return (await engine.getRootResource({})).urn;
    },
    async setRootResource(urn) {
      await engine.setRootResource({ urn });
    },
    async isAlive() {
      try {
        await health.check({ service: "" });
        return true;
      } catch (error) {
        return RpcError.from(error).code === "UNIMPLEMENTED";
      }
    },
    close: () => channel.close(),
    [Symbol.asyncDispose]: () => channel.close(),
  };
}

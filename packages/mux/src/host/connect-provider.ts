import { setTimeout as sleep } from "node:timers/promises";
import { openChannel, type RpcChannel, RpcError } from "@stackwright/proto/grpc";
import type {
  ProviderHandshakeRequest,
  ProviderHandshakeResponse,
} from "@stackwright/proto/pulumirpc";
import { MuxError } from "../errors.ts";
import { createResourceProviderClient } from "../grpc/resource-provider-client.ts";
import type { ResourceProvider } from "../resource-provider.ts";
import type { StartupTimeout } from "./startup-timeout.ts";

/** A provider that has accepted a connection. */
export interface Connection {
  readonly channel: RpcChannel;
  readonly client: ResourceProvider;
  /** Absent for a provider that does not implement Handshake. */
  readonly handshake: ProviderHandshakeResponse | undefined;
}

const RETRY_MS = 10;

/**
 * Connects to a provider that may still be starting, and shakes hands. Rejects with `MUX_PROCESS_START_TIMEOUT`
 * through the deadline, or `MUX_PROCESS_HANDSHAKE_FAILED` for an answer that is an error; UNIMPLEMENTED is none.
 */
export async function connectProvider(
  port: number,
  request: ProviderHandshakeRequest,
  deadline: StartupTimeout,
): Promise<Connection> {
  const channel = openChannel({ host: "127.0.0.1", port }, { carrier: "frames" });
  try {
    deadline.enter("accepted no gRPC connection");
    await channel.waitForReady({ signal: deadline.signal });
    deadline.enter("did not answer the handshake");
    const client = createResourceProviderClient(channel);
    return { channel, client, handshake: await shakeHands(client, request, deadline.signal) };
  } catch (error) {
    await channel.close();
    throw error;
  }
}

async function shakeHands(
  client: ResourceProvider,
  request: ProviderHandshakeRequest,
  signal: AbortSignal,
): Promise<ProviderHandshakeResponse | undefined> {
  for (;;) {
    try {
      return await client.handshake(request, { signal });
    } catch (error) {
      if (signal.aborted) throw signal.reason;
      const { code, rawMessage } = RpcError.from(error);
      if (code === "UNIMPLEMENTED") return undefined;
      if (code !== "UNAVAILABLE") {
        const text = `the handshake failed with ${code}: ${rawMessage}`;
        throw new MuxError("MUX_PROCESS_HANDSHAKE_FAILED", text, { cause: error });
      }
    }
    await sleep(RETRY_MS, undefined, { signal }).catch(() => signal.throwIfAborted());
  }
}

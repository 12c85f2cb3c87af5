import { type Clock, systemClock } from "@stackwright/base/clock";
import { RpcError } from "@stackwright/proto/grpc";
import type { ProviderHandshakeResponse } from "@stackwright/proto/pulumirpc";
import { ProviderHandshakeRequest } from "@stackwright/proto/pulumirpc";
import { MuxError } from "../errors.ts";
import type { ResourceProvider } from "../resource-provider.ts";
import { connectProvider } from "./connect-provider.ts";
import { DEFAULT_ABILITIES, type EngineFeatures } from "./launch-options.ts";
import { parsePort } from "./port-line.ts";
import { StartupTimeout } from "./startup-timeout.ts";

/**
 * Ports of running providers, by package, from the form of `PULUMI_DEBUG_PROVIDERS`: `aws:5001,random:5002`. An
 * empty text names none. `MUX_ATTACH_INVALID`.
 */
export function parseDebugProviders(text: string): ReadonlyMap<string, number> {
  const ports = new Map<string, number>();
  for (const entry of text.split(",").map((part) => part.trim())) {
    if (entry === "") continue;
    const [name = "", portText, more] = entry.split(":");
    const port = portText === undefined ? undefined : parsePort(portText);
    if (name === "" || port === undefined || more !== undefined) {
      const problem = `"${entry}" is not of the form <package>:<port>`;
      throw new MuxError("MUX_ATTACH_INVALID", problem);
    }
    if (ports.has(name)) {
      throw new MuxError("MUX_ATTACH_INVALID", `package "${name}" is given two ports`);
    }
    ports.set(name, port);
  }
  return ports;
}

export interface AttachOptions {
  /** Port of 127.0.0.1 that the provider listens on. */
  readonly port: number;
  /** `host:port` of the engine that the provider is to call back. */
  readonly engineAddress: string;
  readonly handshake?: EngineFeatures;
  /** From the first attempt to the answer to Attach. @default 10_000 */
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
  /** @default the clock of the process */
  readonly clock?: Clock;
}

/** A provider that another program started, under a debugger perhaps. */
export interface AttachedProvider extends AsyncDisposable {
  readonly provider: ResourceProvider;
  readonly handshake: ProviderHandshakeResponse | undefined;
  /** Closes the connection; the process continues. */
  close(): Promise<void>;
}

/**
 * Connects to a provider that is running, shakes hands (without folders, which are not ours to know) and passes it
 * the address of the engine. Rejects with the signal's reason or a `MuxError`: `MUX_PROCESS_START_TIMEOUT`,
 * `MUX_PROCESS_HANDSHAKE_FAILED`, `MUX_ATTACH_FAILED` for any error of Attach, UNIMPLEMENTED included: such a provider
 * would call an engine back that is not there.
 *
 * Source: Pulumi's launch protocol of providers, attach mode.
 */
export async function attachProvider(options: AttachOptions): Promise<AttachedProvider> {
  const { port, engineAddress, timeoutMs = 10_000, signal, clock = systemClock } = options;
  using deadline = new StartupTimeout({
    clock,
    timeoutMs,
    what: `the provider at port ${port}`,
    stage: "accepted no gRPC connection",
    signal,
  });
  const request = ProviderHandshakeRequest.create({
    ...DEFAULT_ABILITIES,
    ...options.handshake,
    engineAddress,
  });
  const { channel, client, handshake } = await connectProvider(port, request, deadline);
  try {
    deadline.enter("did not answer Attach");
    await client.attach({ address: engineAddress }, { signal: deadline.signal });
  } catch (cause) {
    await channel.close();
    deadline.signal.throwIfAborted();
    const { code, rawMessage } = RpcError.from(cause);
    const text = `the provider at port ${port} refused Attach with ${code}: ${rawMessage}`;
    throw new MuxError("MUX_ATTACH_FAILED", text, { cause });
  }
  return {
    provider: client,
    handshake,
    close: () => channel.close(),
    [Symbol.asyncDispose]: () => channel.close(),
  };
}

import { type Logger } from "@stackwright/base/logger";
import { LineSplitter } from "@stackwright/mux/host";
import {
  type ChannelTls,
  createClient,
  openChannel,
  type RpcAddress,
  type RpcChannel,
  RpcError,
} from "@stackwright/proto/grpc";
import { HealthCheckResponse_ServingStatus, HealthService } from "@stackwright/proto/health";
import {
  GRPCBrokerService,
  GRPCControllerService,
  GRPCStdioService,
  StdioData_Channel,
} from "@stackwright/proto/plugin";
import { TfpluginError } from "../errors.ts";
import { HEALTH_SERVICE } from "./plugin-protocol.ts";

interface ConnectOptions {
  readonly address: RpcAddress;
  /** Absent: in the clear. */
  readonly tls: ChannelTls | undefined;
  /** Program or address of the provider, for messages. */
  readonly name: string;
  readonly maxMessageBytes: number;
  readonly carrier: "frames" | "grpc-js";
  readonly logger: Logger;
  /** Is given the lines that the provider writes after the handshake. */
  readonly onOutput: (line: string) => void;
  /** Bounds the first answer. */
  readonly signal: AbortSignal;
}

/**
 * The connection to a running plug-in, with the services that every plug-in has beside its own.
 *
 * Source: HashiCorp's go-plugin: `plugin.GRPCController`, `plugin.GRPCStdio`, `plugin.GRPCBroker`, and gRPC's health
 * service under the name `plugin`.
 */
export class PluginConnection implements AsyncDisposable {
  readonly channel: RpcChannel;
  readonly #options: ConnectOptions;
  readonly #background = new AbortController();
  #streams: Promise<unknown> = Promise.resolve();

  private constructor(channel: RpcChannel, options: ConnectOptions) {
    this.channel = channel;
    this.#options = options;
  }

  /** Resolves when the provider has answered. `TFPLUGIN_CONNECT_FAILED`, `TFPLUGIN_UNHEALTHY`. */
  static async open(options: ConnectOptions): Promise<PluginConnection> {
    const { address, tls, maxMessageBytes } = options;
    const channel = openChannel(address, {
      ...(tls !== undefined && { tls }),
      maxMessageBytes,
      ...(options.carrier === "frames" ? { carrier: "frames" } : { options: GRPC_OPTIONS }),
    });
    const connection = new PluginConnection(channel, options);
    try {
      await connection.checkHealth(options.signal);
    } catch (error) {
      await connection.close();
      throw error;
    }
    connection.#streams = Promise.allSettled([connection.#readOutput(), connection.#holdBroker()]);
    return connection;
  }

  /**
   * Asks the provider whether it is well. One that has no health service is, as it answered at all.
   * `TFPLUGIN_CONNECT_FAILED` where there is no answer, `TFPLUGIN_UNHEALTHY` for one other than "serving".
   */
  async checkHealth(signal: AbortSignal): Promise<void> {
    const { name } = this.#options;
    let status: HealthCheckResponse_ServingStatus;
    try {
      const client = createClient(HealthService, this.channel);
      ({ status } = await client.check({ service: HEALTH_SERVICE }, { signal }));
    } catch (cause) {
      signal.throwIfAborted();
      const { code, rawMessage } = RpcError.from(cause);
      // Not every plug-in has the service, or knows itself by this name.
      if (code === "UNIMPLEMENTED" || code === "NOT_FOUND") return;
      const text = `cannot connect to ${name}: ${code}: ${rawMessage}`;
      throw new TfpluginError("TFPLUGIN_CONNECT_FAILED", text, { cause, provider: name });
    }
    if (status === HealthCheckResponse_ServingStatus.SERVING) return;
    const text = `${name} says that it is not serving (${status})`;
    throw new TfpluginError("TFPLUGIN_UNHEALTHY", text, { provider: name });
  }

  /** Asks the process to end. A connection that breaks over it is as good as an answer. */
  async shutdown(signal: AbortSignal): Promise<void> {
    try {
      await createClient(GRPCControllerService, this.channel).shutdown({}, { signal });
    } catch (error) {
      if (RpcError.from(error).code === "UNAVAILABLE") return;
      this.#options.logger.debug(
        { provider: this.#options.name, error },
        "provider did not take Shutdown",
      );
    }
  }

  async close(): Promise<void> {
    this.#background.abort();
    await this.channel.close();
    await this.#streams;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /** What the program prints once go-plugin has taken its standard streams over. */
  async #readOutput(): Promise<void> {
    const { onOutput } = this.#options;
    const stdout = new LineSplitter(onOutput);
    const stderr = new LineSplitter(onOutput);
    const client = createClient(GRPCStdioService, this.channel);
    await this.#hold("stdio", async (signal) => {
      for await (const { channel, data } of client.streamStdio({}, { signal })) {
        const target = channel === StdioData_Channel.STDERR ? stderr : stdout;
        target.push(Buffer.from(data));
      }
    });
    stdout.end();
    stderr.end();
  }

  /**
   * The broker would let a provider call back over connections of its own. The provider protocol has no use for it; it
   * is opened and nothing is sent, as Terraform does, since a plug-in may wait for it.
   */
  async #holdBroker(): Promise<void> {
    const client = createClient(GRPCBrokerService, this.channel);
    await this.#hold("broker", async (signal) => {
      for await (const offer of client.startStream(untilAborted(signal), { signal })) {
        this.#options.logger.debug(
          { provider: this.#options.name, service: offer.serviceId },
          "the provider offered an unrequested connection",
        );
      }
    });
  }

  async #hold(service: string, run: (signal: AbortSignal) => Promise<void>): Promise<void> {
    try {
      await run(this.#background.signal);
    } catch (error) {
      if (this.#background.signal.aborted || RpcError.from(error).code === "UNIMPLEMENTED") return;
      this.#options.logger.debug(
        { provider: this.#options.name, service, error },
        "service of the provider ended",
      );
    }
  }
}

const GRPC_OPTIONS = {
  // A call is sent once: whether it may be repeated is not for the connection to decide.
  "grpc.enable_retries": 0,
  // Providers are on this machine, regardless of its proxy settings.
  "grpc.enable_http_proxy": 0,
  // Sockets end with this channel instead of lingering for others.
  "grpc.use_local_subchannel_pool": 1,
  "grpc.service_config_disable_resolution": 1,
};

/** A stream of requests in which nothing is sent until it ends. */
function untilAborted(signal: AbortSignal): AsyncIterable<never> {
  const { promise, resolve } = Promise.withResolvers<IteratorResult<never, undefined>>();
  const end = (): void => resolve({ done: true, value: undefined });
  if (signal.aborted) end();
  else signal.addEventListener("abort", end, { once: true });
  return { [Symbol.asyncIterator]: () => ({ next: () => promise }) };
}

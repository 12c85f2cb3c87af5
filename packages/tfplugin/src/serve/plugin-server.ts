import {
  implementService,
  type RpcAddress,
  RpcError,
  type RpcServer,
  type ServerTls,
  type ServiceBinding,
  startServer,
} from "@stackwright/proto/grpc";
import { HealthCheckResponse_ServingStatus, HealthService } from "@stackwright/proto/health";
import {
  GRPCBrokerService,
  GRPCControllerService,
  GRPCStdioService,
} from "@stackwright/proto/plugin";
import { HEALTH_SERVICE } from "../launch/plugin-protocol.ts";
import type { PluginTransport } from "../transport/plugin-transport.ts";
import { bindProvider } from "./provider-binding.ts";
import { StdioCapture } from "./stdio-capture.ts";

interface PluginServerOptions {
  readonly provider: PluginTransport;
  readonly address: RpcAddress;
  /** Absent: in the clear. */
  readonly tls?: ServerTls;
  /** What the program prints. */
  readonly stdio?: StdioCapture;
  /** Receives errors that calls end with, which a provider should not have. */
  readonly onError?: (error: unknown) => void;
}

/**
 * A provider behind gRPC, with the services that every plug-in has beside its own.
 *
 * Source: HashiCorp's go-plugin: `plugin.GRPCController`, `plugin.GRPCStdio`, `plugin.GRPCBroker`, and gRPC's health
 * service under the name `plugin`.
 */
export class PluginServer implements AsyncDisposable {
  readonly address: RpcAddress;
  readonly protocol: 5 | 6;
  /** Resolves when the client has asked for the end, after it was answered. */
  readonly shutdown: Promise<void>;
  readonly #server: RpcServer;
  readonly #provider: PluginTransport;
  readonly #activity: Activity;

  private constructor(
    server: RpcServer,
    provider: PluginTransport,
    activity: Activity,
    shutdown: Promise<void>,
  ) {
    this.#server = server;
    this.#provider = provider;
    this.#activity = activity;
    this.address = server.address;
    this.protocol = provider.protocol;
    this.shutdown = shutdown;
  }

  /** Resolves when the server listens. */
  static async start(options: PluginServerOptions): Promise<PluginServer> {
    const {
      provider,
      address,
      tls,
      stdio = new StdioCapture(),
      onError = () => undefined,
    } = options;
    const activity = new Activity();
    const shutdown = Promise.withResolvers<void>();
    const server = await startServer({
      address,
      ...(tls !== undefined && { tls }),
      // No limit: what a client sends is for the client to bound.
      maxMessageBytes: -1,
      services: [
        bindProvider(provider, activity, onError),
        controller(() => shutdown.resolve()),
        implementService(GRPCStdioService, {
          streamStdio: (_request, { signal }) => activity.hold(stdio.read(signal)),
        }),
        implementService(GRPCBrokerService, { startStream: (offers) => ignore(offers) }),
        health(),
      ],
    });
    return new PluginServer(server, provider, activity, shutdown.promise);
  }

  /** Since when, on the clock of `performance`, a client that was there is gone; undefined while one may be there. */
  get lonelySince(): number | undefined {
    return this.#activity.lonelySince;
  }

  /** Waits for the calls under way, no longer than the grace; then ends connection and provider. */
  async close(graceMs = 0): Promise<void> {
    await this.#activity.rest(graceMs);
    await this.#server.close();
    await this.#provider.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}

/**
 * Whether a client is there. Clients of go-plugin read the output of a plug-in from beginning to end, so that the end
 * of that stream without a new one, and without calls, means that the connection is lost.
 */
class Activity {
  #calls = 0;
  #held = 0;
  #lonelySince: number | undefined;
  #onRest: (() => void) | undefined;

  get lonelySince(): number | undefined {
    return this.#calls === 0 && this.#held === 0 ? this.#lonelySince : undefined;
  }

  begin(): void {
    this.#calls += 1;
  }

  end(): void {
    this.#calls -= 1;
    if (this.#calls === 0) this.#onRest?.();
    if (this.#lonelySince !== undefined) this.#lonelySince = performance.now();
  }

  /** Resolves when no call is under way, or after that time. */
  async rest(limitMs: number): Promise<void> {
    if (this.#calls === 0) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, limitMs);
    this.#onRest = resolve;
    await promise;
    clearTimeout(timer);
    // What was answered last is still on its way.
    await new Promise((sent) => {
      setImmediate(sent);
    });
  }

  async *hold<T>(stream: AsyncIterable<T>): AsyncGenerator<T, void, undefined> {
    this.#held += 1;
    try {
      yield* stream;
    } finally {
      this.#held -= 1;
      this.#lonelySince = performance.now();
    }
  }
}

function controller(onShutdown: () => void): ServiceBinding {
  return implementService(GRPCControllerService, {
    shutdown: () => {
      // The answer goes out first.
      setImmediate(onShutdown);
      return {};
    },
  });
}

function health(): ServiceBinding {
  const { SERVING, SERVICE_UNKNOWN } = HealthCheckResponse_ServingStatus;
  return implementService(HealthService, {
    check: ({ service }) => {
      if (service === "" || service === HEALTH_SERVICE) return { status: SERVING };
      throw new RpcError("NOT_FOUND", `there is no service ${JSON.stringify(service)}`);
    },
    async *watch({ service }, { signal }) {
      yield { status: service === "" || service === HEALTH_SERVICE ? SERVING : SERVICE_UNKNOWN };
      await aborted(signal);
    },
  });
}

/** Providers are not called back and make no calls themselves: the broker's stream is kept open, and what comes is dropped. */
async function* ignore(offers: AsyncIterable<unknown>): AsyncGenerator<never, void, undefined> {
  for await (const _offer of offers) continue;
  yield* [];
}

async function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return;
  const { promise, resolve } = Promise.withResolvers<void>();
  signal.addEventListener("abort", () => resolve(), { once: true });
  await promise;
}

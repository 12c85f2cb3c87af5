import { type ChannelInit, openChannel, type RpcChannel } from "../grpc/channel.ts";
import { createClient, type RpcClient } from "../grpc/client.ts";
import {
  implementService,
  type ServiceImplementation,
  type ServiceOptions,
} from "../grpc/implement.ts";
import { type RpcServer, type ServerInit, startServer } from "../grpc/server.ts";
import { ShapesService } from "./shapes-service.ts";

export type Shapes = Partial<ServiceImplementation<typeof ShapesService>>;

export interface ShapesFixture extends AsyncDisposable {
  readonly server: RpcServer;
  readonly channel: RpcChannel;
  readonly client: RpcClient<typeof ShapesService>;
}

/** What carries calls on both sides; all behave alike. */
export const CARRIERS = ["grpc-js", "frames", "grpc-js to frames", "frames to frames"] as const;

/** Carriers of clients, for what a server over frames does not do. */
export const CLIENT_CARRIERS = ["grpc-js", "frames"] as const;

/** Carriers of servers, each with a client over grpc-js. */
export const SERVER_CARRIERS = ["grpc-js", "grpc-js to frames"] as const;

const SIDES = {
  "grpc-js": ["grpc-js", "grpc-js"],
  frames: ["frames", "grpc-js"],
  "grpc-js to frames": ["grpc-js", "frames"],
  "frames to frames": ["frames", "frames"],
} as const;

/** The client's side of one of {@link CARRIERS}. */
export function clientOf(carrier: (typeof CARRIERS)[number]): "grpc-js" | "frames" {
  return SIDES[carrier][0];
}

/** The server's side of one of {@link CARRIERS}. */
export function serverOf(carrier: (typeof CARRIERS)[number]): "grpc-js" | "frames" {
  return SIDES[carrier][1];
}

/** {@link connectShapes} with a client and a server over {@link CARRIERS}. */
export function shapesOver(carrier: (typeof CARRIERS)[number]): typeof connectShapes {
  const [client, server] = SIDES[carrier];
  return (shapes, init) =>
    connectShapes(shapes, {
      ...init,
      channel: { ...init?.channel, carrier: client },
      server: { ...init?.server, carrier: server },
    });
}

/** A server with the given handlers on loopback, and a client that is connected to it. */
export async function connectShapes(
  shapes: Shapes,
  init: {
    readonly server?: Partial<ServerInit>;
    readonly channel?: ChannelInit;
    readonly handlers?: ServiceOptions;
  } = {},
): Promise<ShapesFixture> {
  const stack = new AsyncDisposableStack();
  const services = [implementService(ShapesService, shapes, init.handlers)];
  const server = stack.use(await startServer({ services, ...init.server }));
  const channel = stack.use(openChannel(server.address, init.channel));
  return {
    server,
    channel,
    client: createClient(ShapesService, channel),
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

export async function collect<T>(messages: AsyncIterable<T>): Promise<T[]> {
  const collected: T[] = [];
  for await (const item of messages) collected.push(item);
  return collected;
}

/** Resolves when `condition` holds; the test's own time limit applies. */
export async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setImmediate(resolve));
}

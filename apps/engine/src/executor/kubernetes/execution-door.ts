import type { AddressInfo, Socket } from "node:net";
import type { Duplex } from "node:stream";
import { createServer, type Server, type TLSSocket } from "node:tls";
import type { Logger } from "@stackwright/base/logger";

/** What a connection of a pod is for. */
export type DoorChannel = "control" | "output" | "store";

/** An execution whose pod is expected. */
interface ExpectedVisitor {
  /** The pod has it from its Secret. */
  readonly key: Buffer;
  readonly onConnection: (channel: DoorChannel, socket: Duplex) => void;
}

interface DoorOptions {
  readonly host: string;
  readonly port: number;
  readonly logger?: Logger | undefined;
  /** Connections at the same time that have shown no key yet; the oldest makes room for one more. @default 256 */
  readonly maxStrangers?: number;
}

/**
 * How both sides encrypt: the key of an execution is all that they know of each other, so there is no certificate. It proves the pod to
 * the worker and the worker to the pod, and what was recorded before it became known cannot be read with it.
 */
export const DOOR_TLS = {
  ciphers: "ECDHE-PSK-CHACHA20-POLY1305",
  minVersion: "TLSv1.2",
  maxVersion: "TLSv1.2",
} as const;

/** Bytes of the key of an execution. */
export const DOOR_KEY_BYTES = 32;
/** How often a connection says that its side is there: one whose machine is gone ends within about half a minute. */
export const KEEP_ALIVE_MS = 10_000;

/** How long a connection may take to show its key: two answers over the network of a cluster. */
const HANDSHAKE_MS = 5_000;
/** More than the pods of a worker open when all of them begin at once. */
const MAX_STRANGERS = 256;
/** Of all executions of a worker, which each have three, or some more for the store. */
const MAX_CONNECTIONS = 10_000;
/** Of one execution at the same time: a hostile pod leaves room for the others. */
const MAX_OF_EXECUTION = 64;

/**
 * Where pods of executions reach their worker. Whoever has no key of a present execution gets no further than the handshake, and has no
 * place of those that have one: connections without a key are few, and the oldest of them makes room for the next.
 */
export class ExecutionDoor implements AsyncDisposable {
  readonly #server: Server;
  readonly #expected: Map<string, ExpectedVisitor>;
  readonly #open = new Set<TLSSocket>();
  /** Those that have shown no key yet, by the address and port of the other side; the oldest first. */
  readonly #strangers = new Map<string, Socket>();

  private constructor(
    server: Server,
    expected: Map<string, ExpectedVisitor>,
    maxStrangers: number,
  ) {
    this.#server = server;
    this.#expected = expected;
    server.on("connection", (socket) => {
      socket.setKeepAlive(true, KEEP_ALIVE_MS);
      this.#arrive(socket, maxStrangers);
    });
    server.on("secureConnection", (socket) => {
      this.#strangers.delete(placeOf(socket));
      this.#open.add(socket);
      socket.once("close", () => this.#open.delete(socket));
    });
  }

  /** Rejects where the port is taken. */
  static async open({
    host,
    port,
    logger,
    maxStrangers = MAX_STRANGERS,
  }: DoorOptions): Promise<ExecutionDoor> {
    const expected = new Map<string, ExpectedVisitor>();
    const identities = new WeakMap<object, string>();
    const counts = new WeakMap<ExpectedVisitor, number>();
    const server = createServer({
      ...DOOR_TLS,
      handshakeTimeout: HANDSHAKE_MS,
      pskCallback: (socket, identity) => {
        identities.set(socket, identity);
        return expected.get(partsOf(identity).name)?.key ?? null;
      },
    });
    server.maxConnections = MAX_CONNECTIONS + maxStrangers;
    server.on("tlsClientError", (error) => {
      logger?.debug({ err: error }, "a connection without the key of an execution was refused");
    });
    server.on("secureConnection", (socket: TLSSocket) => {
      socket.on("error", () => socket.destroy());
      const { name, channel } = partsOf(identities.get(socket) ?? "");
      const visitor = expected.get(name);
      if (visitor === undefined || channel === undefined) {
        socket.destroy();
        return;
      }
      const count = counts.get(visitor) ?? 0;
      if (count >= MAX_OF_EXECUTION) {
        logger?.warn({ job: name }, "a pod has too many connections; another one was refused");
        socket.destroy();
        return;
      }
      counts.set(visitor, count + 1);
      socket.once("close", () => counts.set(visitor, (counts.get(visitor) ?? 1) - 1));
      visitor.onConnection(channel, socket);
    });
    await new Promise<void>((resolve, reject) => {
      server.once("error", reject);
      server.listen({ host, port }, resolve);
    });
    return new ExecutionDoor(server, expected, maxStrangers);
  }

  #arrive(socket: Socket, most: number): void {
    const place = placeOf(socket);
    this.#strangers.set(place, socket);
    socket.once("close", () => {
      if (this.#strangers.get(place) === socket) this.#strangers.delete(place);
    });
    for (const [oldest, stranger] of this.#strangers) {
      if (this.#strangers.size <= most) return;
      this.#strangers.delete(oldest);
      stranger.destroy();
    }
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** Lets the pod of an execution in until the answer is disposed. */
  expect(name: string, visitor: ExpectedVisitor): Disposable {
    this.#expected.set(name, visitor);
    return { [Symbol.dispose]: () => this.#expected.delete(name) };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    for (const socket of [...this.#open, ...this.#strangers.values()]) socket.destroy();
    await closed;
  }
}

/** What a connection calls itself. */
export function doorIdentity(name: string, channel: DoorChannel): string {
  return `${name}/${channel}`;
}

/** Of the other side: two connections at the same time differ in it. */
function placeOf({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress} ${remotePort}`;
}

function partsOf(identity: string): { readonly name: string; readonly channel?: DoorChannel } {
  const [, name = "", channel] = /^([^/]+)\/(control|output|store)$/.exec(identity) ?? [];
  return channel === undefined ? { name } : { name, channel: channel as DoorChannel };
}

import { mkdtempDisposable } from "node:fs/promises";
import { createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import type { Logger } from "@stackwright/base/logger";
import { connectStore } from "../executor/connect-store.ts";
import type { GroupMember, ServerGroup } from "./server-group.ts";

/** Where the storage service of a server is. */
export interface StoragePlace {
  readonly host: string;
  readonly port: number;
  readonly tls: boolean;
}

interface StorageRelayParts {
  readonly group: ServerGroup;
  /** Rejects where the server does not answer. */
  readonly placeOf: (member: GroupMember) => Promise<StoragePlace>;
  /** Authorities of the services, in PEM. @default those that Node trusts */
  readonly ca?: string | undefined;
  readonly logger: Logger;
}

/** A socket that leads to the storage service of one of several servers. Disposing closes its connections. */
interface StorageRelay extends AsyncDisposable {
  readonly socketPath: string;
}

/**
 * Opens a socket of this user for the worker and its executors. Each connection goes to the server that the group uses, over TLS where the
 * service has it, and ends when that server stops answering; its client then connects again, and gets to another one.
 */
export async function openStorageRelay(parts: StorageRelayParts): Promise<StorageRelay> {
  await using stack = new AsyncDisposableStack();
  // Paths of sockets are short.
  const folder = stack.use(await mkdtempDisposable(join(tmpdir(), "stackwright-relay-")));
  const socketPath = join(folder.path, "s");
  const open = new Set<Socket>();
  const server = createServer((socket) => {
    open.add(socket);
    socket.once("close", () => open.delete(socket));
    socket.on("error", () => socket.destroy());
    void relay(parts, socket);
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(socketPath, resolve);
  });
  stack.defer(async () => {
    const closed = new Promise<void>((resolve) => server.close(() => resolve()));
    for (const socket of open) socket.destroy();
    await closed;
  });
  const owned = stack.move();
  return { socketPath, [Symbol.asyncDispose]: async () => owned.disposeAsync() };
}

async function relay(parts: StorageRelayParts, socket: Socket): Promise<void> {
  const { group, logger } = parts;
  for (const _ of group.members) {
    const member = group.current;
    try {
      const upstream = await connectTo(parts, member);
      const { signal } = member.gone;
      await Promise.allSettled([
        pipeline(socket, upstream, { signal }),
        pipeline(upstream, socket, { signal }),
      ]);
      break;
    } catch (error) {
      logger.warn({ server: member.url, err: error }, "the storage service cannot be reached");
      group.leave(member);
    }
  }
  socket.destroy();
}

async function connectTo({ placeOf, ca }: StorageRelayParts, member: GroupMember): Promise<Socket> {
  const { host, port, tls } = await placeOf(member);
  return connectStore({
    address: { host, port },
    ...(tls && { tls: { ...(ca !== undefined && { trusted: ca }) } }),
  });
}

import { chmod, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { RpcServer } from "@stackwright/proto/grpc";

/** Longest path of a unix socket, in bytes, on all systems. */
const MAX_PATH = 100;

/** Where a monitor listens. */
interface MonitorPlace extends AsyncDisposable {
  /** Starts a server there. Resolves with its target, as SDKs dial it. */
  start(listen: (address?: RpcServer["address"]) => Promise<RpcServer>): Promise<string>;
}

/**
 * A unix socket in a folder of this user alone: who dials a monitor makes resources and reads their secrets, and its protocol knows no
 * credentials. On Windows it is a port of loopback, which other users of the machine can dial.
 */
export async function openMonitorPlace(platform: string = process.platform): Promise<MonitorPlace> {
  await using resources = new AsyncDisposableStack();
  let socketPath: string | undefined;
  if (platform !== "win32") {
    const long = Buffer.byteLength(join(tmpdir(), "monitor-000000", "m")) > MAX_PATH;
    const folder = await mkdtemp(join(long ? "/tmp" : tmpdir(), "monitor-"));
    resources.defer(async () => rm(folder, { recursive: true, force: true }));
    socketPath = join(folder, "m");
  }
  const owned = resources.move();
  return {
    async start(listen) {
      const server = await listen(socketPath === undefined ? undefined : { socketPath });
      owned.defer(() => server.close());
      const { address } = server;
      if (!("socketPath" in address)) return `${address.host}:${address.port}`;
      await chmod(address.socketPath, 0o600);
      return `unix:${address.socketPath}`;
    },
    [Symbol.asyncDispose]: async () => owned.disposeAsync(),
  };
}

import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { createServer } from "node:net";
import type { Ports } from "./prepare.ts";

/** Ports of this machine which were free a moment ago. */
export async function freePorts(): Promise<Ports> {
  const servers = Array.from({ length: 3 }, () => createServer().listen(0, "127.0.0.1"));
  await Promise.all(servers.map(async (server) => once(server, "listening")));
  const ports = servers.map((server) => (server.address() as AddressInfo).port);
  await Promise.all(servers.map(async (server) => once(server.close(), "close")));
  const [server = 0, storage = 0, functions = 0] = ports;
  return { server, storage, functions };
}

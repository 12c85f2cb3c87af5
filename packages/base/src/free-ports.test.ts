import { once } from "node:events";
import { createServer } from "node:net";
import { expect, it } from "vitest";
import { freePorts } from "./free-ports.ts";

it("gives different ports on which a server can listen", async () => {
  const ports = await freePorts(20);
  expect(new Set(ports).size).toBe(20);
  const server = createServer().listen(ports[0], "127.0.0.1");
  await once(server, "listening");
  server.close();
});

it("gives none that the system gives to connections and servers by itself", async () => {
  const ports = await freePorts(50);
  expect(ports.every((port) => port >= 10_240 && port < 32_768)).toBe(true);
});

it("passes over ports that are taken, and those it has drawn before", async () => {
  const [busy = 0, free = 0, other = 0] = await freePorts(3);
  const server = createServer().listen(busy, "127.0.0.1");
  await once(server, "listening");
  const draws = [busy, free, free, other];
  expect(await freePorts(2, { randomInt: () => draws.shift() ?? 0 })).toEqual([free, other]);
  server.close();
});

it("ends its search on a machine without free ports", async () => {
  const [busy = 0] = await freePorts(1);
  const server = createServer().listen(busy, "127.0.0.1");
  await once(server, "listening");
  await expect(freePorts(1, { randomInt: () => busy })).rejects.toThrow("no free port was found");
  server.close();
});

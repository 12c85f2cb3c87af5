import { createServer } from "node:net";
import { expect, it } from "vitest";
import { freePorts } from "./free-ports.ts";

it("gives different ports on which a server can listen", async () => {
  const ports = await freePorts(20);
  expect(new Set(ports).size).toBe(20);
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(ports[0], "127.0.0.1", resolve));
  await new Promise((resolve) => server.close(resolve));
});

import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, it, onTestFinished } from "vitest";
import { openBackend } from "./open-backend.ts";
import type { LockRecord } from "./state-backend.ts";

const RECORD: LockRecord = {
  ID: "one",
  Operation: "stackwright adopt",
  Info: "",
  Who: "ann@build",
  Version: "1",
  Created: "2026-01-01T00:00:00Z",
  Path: "",
};

it("has the lock where only the answer to its request was lost", async () => {
  let lock: string | undefined;
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const parts: Buffer[] = [];
    for await (const part of request) parts.push(part as Buffer);
    const body = Buffer.concat(parts).toString();
    if (request.method === "UNLOCK") {
      lock = undefined;
      response.end();
    } else if (lock === undefined) {
      lock = body;
      // The connection breaks before the answer.
      request.socket.destroy();
    } else response.writeHead(423).end(lock);
  };
  const server = createServer((request, response) => void answer(request, response));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}/state`;
  const values = { address, lock_address: address };
  await using backend = await openBackend({ type: "http", values }, { directory: "/", env: {} });
  const held = await backend.lock("default", RECORD);
  await expect(backend.lock("default", { ...RECORD, ID: "two" })).rejects.toMatchObject({
    code: "TFSTATE_BACKEND_LOCKED",
  });
  await held.release();
  expect(lock).toBe(undefined);
});

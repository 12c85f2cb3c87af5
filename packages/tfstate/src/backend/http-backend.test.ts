import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, it, onTestFinished } from "vitest";
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

describe("the reason of a server that refuses", () => {
  const refused = async (
    body: string | ((request: IncomingMessage) => string),
    values: Readonly<Record<string, string>> = {},
    query = "",
  ): Promise<string> => {
    const server = createServer((request, response) => {
      response.writeHead(403).end(typeof body === "string" ? body : body(request));
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    onTestFinished(() => {
      server.closeAllConnections();
      server.close();
    });
    const { port } = server.address() as AddressInfo;
    const address = `http://127.0.0.1:${port}/state${query}`;
    await using backend = await openBackend(
      { type: "http", values: { address, ...values } },
      { directory: "/", env: {} },
    );
    return String(await backend.read("default").catch((error: unknown) => error));
  };

  it("is shown on one line that moves no cursor", async () => {
    const error = await refused("no\u001b[2Jlease\u202e\r\nError: forged\u009b1m");
    expect(error).toContain("permission denied (no?[2Jlease???Error: forged?1m)");
  });

  it.each([
    [200, true],
    [201, false],
  ])("is shortened above 200 characters: %i", async (length, isWhole) => {
    const error = await refused("x".repeat(length));
    expect(error.includes(`(${"x".repeat(200)})`)).toBe(isWhole);
    expect(error.includes(`(${"x".repeat(200)}...)`)).toBe(!isWhole);
  });

  it.each([
    [299, true],
    [300, false],
  ])("is not shown where it is no sentence: %i bytes", async (length, isShown) => {
    expect((await refused("x".repeat(length))).includes("(")).toBe(isShown);
  });

  const login = { username: "ann", password: 'p&"w' };
  it.each([
    ["the password", () => 'bad password p&"w', login],
    ["the password in JSON", () => JSON.stringify({ password: 'p&"w' }), login],
    ["the password in an address", () => `/?p=${encodeURIComponent('p&"w')}`, login],
    ["the header", ({ headers }: IncomingMessage) => JSON.stringify(headers), login],
    ["a value of the query", ({ url = "" }: IncomingMessage) => `not found: ${url}`, {}],
  ])("is not shown where it repeats %s", async (_name, body, values) => {
    const error = await refused(body, values, "?token=hidden%20one");
    expect(error).toMatch(/permission denied$/);
  });
});

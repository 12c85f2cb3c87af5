import { once } from "node:events";
import { mkdtempDisposable } from "node:fs/promises";
import { connect, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import {
  createProtocolConnection,
  StreamMessageReader,
  StreamMessageWriter,
} from "vscode-languageserver-protocol/node";
import { acceptSingleClient } from "../session/single-client.ts";
import { spawnCommand } from "../testing/spawned-command.ts";
import { tryCommand } from "../testing/try-command.ts";

const LISTENING = /waits for one client at 127\.0\.0\.1:(\d+)\n/;

async function connected(port: number): Promise<Socket> {
  const socket = connect(port, "127.0.0.1");
  await once(socket, "connect");
  return socket;
}

describe("lsp --port", { timeout: 60_000 }, () => {
  it("serves one client, refuses a second one, and ends with the first", async () => {
    await using scratch = await mkdtempDisposable(join(tmpdir(), "lsp-port-"));
    await using command = spawnCommand(["lsp", "--port", "0"], { cwd: scratch.path });
    const [, port = ""] = await command.waitFor(LISTENING);
    const socket = await connected(Number(port));
    const connection = createProtocolConnection(
      new StreamMessageReader(socket),
      new StreamMessageWriter(socket),
    );
    connection.listen();
    const { serverInfo } = await connection.sendRequest<{ serverInfo: { name: string } }>(
      "initialize",
      { processId: null, capabilities: {}, rootUri: null },
    );
    expect(serverInfo.name).toBe("stackwright");
    await expect(connected(Number(port))).rejects.toThrow("ECONNREFUSED");
    await connection.sendRequest("shutdown");
    await connection.sendNotification("exit");
    expect(await command.ended).toBe(0);
    connection.dispose();
  });

  it("ends with a failure where the client leaves without a word", async () => {
    await using scratch = await mkdtempDisposable(join(tmpdir(), "lsp-port-"));
    await using command = spawnCommand(["lsp", "--port", "0"], { cwd: scratch.path });
    const [, port = ""] = await command.waitFor(LISTENING);
    const socket = await connected(Number(port));
    socket.destroy();
    expect(await command.ended).toBe(1);
  });

  it("is refused for what is no port, and for one that is taken", async () => {
    expect((await tryCommand(["lsp", "--port", "x"])).error).toContain("not a valid port");
    const end = new AbortController();
    const { promise: address, resolve } = Promise.withResolvers<string>();
    const waiting = acceptSingleClient({
      port: 0,
      onListening: resolve,
      timeoutMs: 60_000,
      signal: end.signal,
    });
    const port = (await address).split(":")[1] ?? "";
    const { code, error } = await tryCommand(["lsp", "--port", port]);
    expect([code, error]).toEqual([1, expect.stringContaining("another process listens there")]);
    end.abort(new Error("stopped"));
    await expect(waiting).rejects.toThrow("stopped");
  });
});

describe("a single client", () => {
  it("is not waited for without end", async () => {
    await expect(
      acceptSingleClient({
        port: 0,
        onListening: () => undefined,
        timeoutMs: 20,
        signal: new AbortController().signal,
      }),
    ).rejects.toThrow("No client has connected");
  });

  it("is served alone, also where two come at once", async () => {
    const { promise: address, resolve } = Promise.withResolvers<string>();
    const waiting = acceptSingleClient({
      port: 0,
      onListening: resolve,
      timeoutMs: 10_000,
      signal: new AbortController().signal,
    });
    const port = Number((await address).split(":")[1]);
    const clients = [0, 1, 2].map(() => connect(port, "127.0.0.1"));
    for (const client of clients) client.on("error", () => undefined);
    const socket = await waiting;
    await expect.poll(() => clients.filter((client) => client.closed).length).toBe(2);
    socket.destroy();
    for (const client of clients) client.destroy();
  });
});

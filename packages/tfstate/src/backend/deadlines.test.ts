import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { mkdtempDisposable } from "node:fs/promises";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { BackendArguments } from "./backend-arguments.ts";
import { commandBackend } from "./command-backend.ts";
import { pgBackend } from "./pg-backend.ts";
import { s3Backend } from "./s3/s3-backend.ts";
import type { StateBackend } from "./state-backend.ts";
import { sendRequest } from "./web-request.ts";

/** A server that answers with `greeting` to the first bytes of a connection, and then never again. */
async function silentServer(greeting?: Buffer): Promise<number> {
  const open = new Set<Socket>();
  const server = createServer((socket) => {
    open.add(socket);
    socket.on("error", () => undefined);
    socket.once("data", () => greeting !== undefined && socket.write(greeting));
    socket.resume();
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    for (const socket of open) socket.destroy();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

// AuthenticationOk and ReadyForQuery of PostgreSQL.
const READY = Buffer.from([0x52, 0, 0, 0, 8, 0, 0, 0, 0, 0x5a, 0, 0, 0, 5, 0x49]);

const BACKENDS: readonly (readonly [
  string,
  (deadlineMs: number | undefined) => Promise<StateBackend>,
])[] = [
  [
    "pg",
    async (deadlineMs) => {
      const conn_str = `postgres://u:p@127.0.0.1:${await silentServer(READY)}/d?sslmode=disable`;
      return pgBackend(
        new BackendArguments("pg", { conn_str }, {}),
        {},
        deadlineMs === undefined ? {} : { deadlineMs },
      );
    },
  ],
  [
    "s3",
    async (deadlineMs) => {
      const url = `http://127.0.0.1:${await silentServer()}`;
      const values = {
        bucket: "b",
        key: "app",
        region: "eu-west-1",
        access_key: "k",
        secret_key: "s",
        endpoints: { s3: url },
        use_path_style: true,
      };
      return s3Backend(
        new BackendArguments("s3", values, {}),
        { env: {} },
        deadlineMs === undefined ? {} : { deadlineMs },
      );
    },
  ],
];

describe.each(BACKENDS)("a server of the backend %s that does not answer", (_type, open) => {
  it("ends a call after its deadline", async () => {
    await using backend = await open(300);
    await expect(backend.read("default")).rejects.toMatchObject({
      code: "TFSTATE_BACKEND_UNAVAILABLE",
      message: expect.stringContaining("no answer in 1 seconds"),
    });
  });

  it("ends a call with the signal of its caller", async () => {
    await using backend = await open(undefined);
    const reason = new Error("Ctrl-C");
    const stop = new AbortController();
    const reading = backend.read("default", { signal: stop.signal });
    setTimeout(() => stop.abort(reason), 100);
    await expect(reading).rejects.toBe(reason);
  });
});

describe("a request of the web", () => {
  it("ends after its deadline where the answer never ends", async () => {
    const port = await silentServer(Buffer.from("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nx"));
    const request = {
      method: "GET",
      url: `http://127.0.0.1:${port}/`,
      retries: 0,
      deadlineMs: 300,
    };
    await expect(sendRequest(request)).rejects.toThrow("no answer in 1 seconds");
  });

  it("is not repeated after its caller has given up", async () => {
    const stop = new AbortController();
    const reason = new Error("Ctrl-C");
    // Nothing listens there: what takes time are the pauses, of which the second one ends after 1.5 seconds.
    const request = { method: "GET", url: "http://127.0.0.1:1/", retries: 9, signal: stop.signal };
    setTimeout(() => stop.abort(reason), 600);
    const begin = performance.now();
    await expect(sendRequest(request)).rejects.toBe(reason);
    expect(performance.now() - begin).toBeLessThan(1_400);
  });
});

describe("an installed command", () => {
  const program = async (script: string) => {
    const scratch = await mkdtempDisposable(join(tmpdir(), "command-backend-"));
    onTestFinished(() => scratch.remove());
    const command = join(scratch.path, "terraform");
    writeFileSync(command, `#!/bin/sh\n${script}\n`, { mode: 0o755 });
    return { command, directory: scratch.path };
  };

  it("is ended after its deadline", async () => {
    const place = await program("exec sleep 60");
    const backend = commandBackend({ ...place, env: process.env, timeoutMs: 300 });
    await expect(backend.read("default")).rejects.toMatchObject({
      code: "TFSTATE_BACKEND_UNAVAILABLE",
      message: expect.stringContaining("did not end within 300 ms"),
    });
  });

  it("does not receive the arguments that the user adds to each call", async () => {
    const place = await program("env | grep -c ^TF_CLI_ARGS || true");
    const env = {
      ...process.env,
      TF_CLI_ARGS: "-no-color",
      TF_CLI_ARGS_state_pull: "-help",
      TF_CLI_ARGS_state: "-help",
    };
    const backend = commandBackend({ ...place, env });
    expect(Buffer.from((await backend.read("default")) ?? []).toString()).toBe("0\n");
  });
});

import { mkdtempDisposable, readFile } from "node:fs/promises";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import type { BootstrapCredentials } from "../bootstrap.ts";
import { startServerProcess } from "../testing/start-server-process.ts";

const MAIN = join(import.meta.dirname, "../main.ts");

it("an event of a server that is killed before it has the answer is sent again under its id", {
  timeout: 120_000,
}, async () => {
  const scratch = await mkdtempDisposable(join(tmpdir(), "killed-notify-"));
  onTestFinished(() => scratch.remove());
  const ids: string[] = [];
  let answers = true;
  const receiver = createServer((request, response: ServerResponse) => {
    ids.push(String(request.headers["webhook-id"]));
    request.resume();
    if (answers) response.end();
  });
  await new Promise<void>((resolve) => void receiver.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    receiver.closeAllConnections();
    receiver.close();
  });
  const { port } = receiver.address() as AddressInfo;
  const words = ["--store", "sqlite:data", "--bootstrap-file", "first.json", "--executor", "none"];
  const args = [...words, "--notification-host", "127.0.0.1"];
  const start = async () => startServerProcess(MAIN, args, { cwd: scratch.path });
  let server = await start();
  const text = await readFile(join(scratch.path, "first.json"), "utf8");
  const { token } = JSON.parse(text) as BootstrapCredentials;
  const call = async (method: string, path: string, body?: object) => {
    const answer = await fetch(`${server.url}/api/v1/projects/web/notifications${path}`, {
      method,
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    return (await answer.json()) as Record<string, unknown>;
  };
  const url = `http://127.0.0.1:${port}/`;
  await call("POST", "", { name: "ops", kind: "webhook", url });
  const { id } = await call("POST", "/ops/test");
  answers = false;
  await call("POST", `/ops/deliveries/${String(id)}/redeliver`);
  await expect.poll(() => ids.length, { timeout: 20_000 }).toBe(2);
  server.child.kill("SIGKILL");
  await server.ended;
  answers = true;
  server = await start();
  const state = async () => {
    const { deliveries } = await call("GET", "/ops/deliveries");
    return (deliveries as { state: string }[]).map((one) => one.state);
  };
  await expect.poll(state, { timeout: 60_000 }).toEqual(["delivered"]);
  expect(ids).toEqual([id, id, id]);
});

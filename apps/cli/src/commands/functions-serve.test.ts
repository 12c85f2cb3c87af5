import { mkdtempDisposable, writeFile } from "node:fs/promises";
import type { AddressInfo } from "node:net";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { spawnCommand } from "../testing/spawned-command.ts";
import { tryCommand } from "../testing/try-command.ts";

const URN = "urn:fss:local:a61dfe3154de42829367056598d5040f:function:default:hello:latest";
const CODE = `console.log("hello from the code");
require("node:http").createServer((_q, s) => s.end("one")).listen(process.env.PORT, "127.0.0.1");`;

let cleanup: AsyncDisposableStack;
let cwd: string;

beforeEach(async () => {
  cleanup = new AsyncDisposableStack();
  cwd = cleanup.use(await mkdtempDisposable(join(tmpdir(), "functions-serve-"))).path;
  const functions = [{ urn: URN, command: [process.execPath, "hello.cjs"] }];
  await writeFile(join(cwd, "functions.json"), JSON.stringify({ functions }));
  await writeFile(join(cwd, "hello.cjs"), CODE);
});
afterEach(async () => {
  await cleanup.disposeAsync();
});

async function takenPort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  cleanup.defer(() => void server.close());
  return (server.address() as AddressInfo).port;
}

describe("functions serve", () => {
  it("shows where functions are, what they write, what changes, and stops on request", async () => {
    const words = ["functions", "serve", "functions.json", "--port", "0"];
    const command = cleanup.use(spawnCommand(words, { cwd }));
    const [, url = ""] = await command.waitFor(/^1 function is at (\S+)/m);
    await command.waitFor(/^ {2}urn:fss:.*:hello:latest$/m);
    const project = URN.split(":")[3];
    const body = JSON.stringify({
      httpMethod: "POST",
      path: "/provider",
      headers: {},
      body: "",
      isBase64Encoded: true,
    });
    const path = `/v2/${project}/fgs/functions/${URN}/invocations`;
    expect((await fetch(url + path, { method: "POST", body })).status).toBe(200);
    await command.waitFor(/^hello:latest: hello from the code$/m);
    await writeFile(join(cwd, "hello.cjs"), "throw new Error('broken now');");
    await command.waitFor(/^hello:latest: changed$/m);
    expect((await fetch(url + path, { method: "POST", body })).status).toBe(503);
    await command.waitFor(/^hello:latest: .*broken now/m);
    await writeFile(join(cwd, "functions.json"), "{");
    await command.waitFor(/were not deployed: .*functions\.json/);
    expect(await command.stop("SIGINT")).toBe(0);
  });

  it("says that a port is taken", async () => {
    const port = await takenPort();
    for (const words of [
      ["functions", "serve", "functions.json", "--port", String(port)],
      ["serve", "--store", "memory:", "--port", String(port), "--log-level", "silent"],
    ]) {
      const { code, error } = await tryCommand(words, { cwd });
      expect(code).toBe(1);
      expect(error).toContain(
        `Cannot listen on port ${port} of 127.0.0.1: another process listens`,
      );
      expect(error).toContain("--port");
    }
  });

  it.each([
    [["nothing.json"], "There is no file of functions"],
    [["broken.json"], "The file of functions cannot be used"],
    [["functions.json", "--port", "http"], '"http" is not a valid port'],
    [["functions.json", "--port", "0", "--host", "0.0.0.0"], "need accounts"],
  ])("does not start with %j", async (words, reason) => {
    await writeFile(join(cwd, "broken.json"), '{"functions": [{}]}');
    const { code, error } = await tryCommand(["functions", "serve", ...words], { cwd });
    expect(code).toBe(1);
    expect(error).toContain(reason);
  });
});

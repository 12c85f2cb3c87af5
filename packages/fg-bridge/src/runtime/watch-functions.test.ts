import { mkdir, mkdtempDisposable, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { readFunctionsFile } from "./functions-file.ts";
import { type FunctionsServer, serveFunctions } from "./functions-server.ts";
import { watchFunctions } from "./watch-functions.ts";

const PROJECT = "a61dfe3154de42829367056598d5040f";
const urnOf = (name: string) => `urn:fss:local:${PROJECT}:function:default:${name}:latest`;
/** For machines that are busy. */
const SOON = { timeout: 10_000 };
const code = (text: string) =>
  `require("node:http").createServer((_q, s) => s.end(${JSON.stringify(text)})).listen(process.env.PORT, "127.0.0.1");`;

describe("a watched file of functions", () => {
  let cleanup: AsyncDisposableStack;
  let folder: string;
  let server: FunctionsServer;
  const events: string[] = [];
  const problems: unknown[] = [];

  const write = async (names: readonly string[], env: object = {}) =>
    writeFile(
      join(folder, "functions.json"),
      JSON.stringify({
        functions: names.map((name) => ({
          urn: urnOf(name),
          command: [process.execPath, `${name}/main.cjs`],
          env,
        })),
      }),
    );
  const writeCode = async (name: string, text: string) => {
    await mkdir(join(folder, name), { recursive: true });
    await writeFile(join(folder, name, "main.cjs"), code(text));
  };
  const invoke = async (name: string): Promise<string | number> => {
    const path = `/v2/${PROJECT}/fgs/functions/${urnOf(name)}/invocations`;
    const event = { httpMethod: "POST", path: "/provider", headers: {}, body: "" };
    const body = JSON.stringify({ ...event, isBase64Encoded: true });
    const answer = await fetch(server.url + path, { method: "POST", body });
    if (answer.status !== 200) return answer.status;
    const reply = (await answer.json()) as { body?: string };
    return Buffer.from(reply.body ?? "", "base64").toString();
  };

  beforeEach(async () => {
    cleanup = new AsyncDisposableStack();
    events.length = 0;
    problems.length = 0;
    folder = cleanup.use(await mkdtempDisposable(join(tmpdir(), "watch-"))).path;
    await writeCode("one", "first");
    await write(["one"]);
    const path = join(folder, "functions.json");
    const read = await readFunctionsFile(path);
    server = cleanup.use(await serveFunctions(read));
    cleanup.use(
      watchFunctions(path, read, server, {
        onDeployed: (urn, why) => events.push(`${urn.split(":").at(-2)} ${why}`),
        onProblem: (error) => problems.push(error),
      }),
    );
  });
  afterEach(async () => {
    await cleanup.disposeAsync();
  });

  it("runs new code with the next call, and ends instances of the old", async () => {
    expect(await invoke("one")).toBe("first");
    await writeCode("one", "second");
    await expect.poll(() => events, SOON).toEqual(["one changed"]);
    expect(await invoke("one")).toBe("second");
    expect(server.instances(urnOf("one")).alive).toBe(1);
    // What is no code changes nothing.
    await writeFile(join(folder, "one", "data.txt"), "written by a provider");
    await new Promise((resolve) => {
      setTimeout(resolve, 400);
    });
    expect(events).toEqual(["one changed"]);
  });

  it("adds, changes and removes functions with the file", async () => {
    await writeCode("two", "two");
    await write(["one", "two"]);
    await expect.poll(() => events, SOON).toEqual(["two added"]);
    expect(await invoke("two")).toBe("two");
    await write(["two"]);
    await expect.poll(() => events, SOON).toEqual(["two added", "one removed"]);
    expect(await invoke("one")).toBe(404);
    await write(["two"], { A: "1" });
    await expect.poll(() => events.at(-1), SOON).toBe("two changed");
  });

  it("reports what an instance wrote that does not start", async () => {
    await writeFile(join(folder, "one", "main.cjs"), "throw new Error('no such module');");
    await expect.poll(() => events, SOON).toEqual(["one changed"]);
    const path = `/v2/${PROJECT}/fgs/functions/${urnOf("one")}/invocations`;
    const event = { httpMethod: "POST", path: "/provider", headers: {}, body: "" };
    const body = JSON.stringify({ ...event, isBase64Encoded: true });
    const answer = await fetch(server.url + path, { method: "POST", body });
    expect(answer.status).toBe(503);
    expect(await answer.text()).toContain("no such module");
  });

  it("keeps what was deployed while the file is broken", async () => {
    await writeFile(join(folder, "functions.json"), "{");
    await expect
      .poll(() => problems, SOON)
      .toEqual([expect.objectContaining({ code: "FG_OPTIONS_INVALID" })]);
    expect(await invoke("one")).toBe("first");
    await write(["one"], { A: "1" });
    await expect.poll(() => events, SOON).toEqual(["one changed"]);
  });
});

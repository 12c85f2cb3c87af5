import { spawn } from "node:child_process";
import { mkdtempDisposable, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { readAccountsFile, readFunctionsFile } from "./functions-file.ts";

const urn = "urn:fss:cn-north-7:a61dfe3154de42829367056598d5040f:function:default:test:latest";
const one = { urn, directory: "fn" };

async function read(content: unknown) {
  await using scratch = await mkdtempDisposable(join(tmpdir(), "functions-"));
  const path = join(scratch.path, "functions.json");
  await writeFile(path, typeof content === "string" ? content : JSON.stringify(content));
  return { file: await readFunctionsFile(path), folder: scratch.path };
}

describe("a file of functions", () => {
  it("has paths relative to itself, settings and accounts", async () => {
    const account = { accessKey: "AK", secretKey: "SK", projects: ["p"] };
    const { file, folder } = await read({
      functions: [
        { ...one, timeoutMs: 5000, env: { A: "1" } },
        { urn, command: ["node", "main.js"], cwd: "sub", kind: "event" },
      ],
      accounts: [account],
    });
    expect(file.functions).toEqual([
      {
        urn,
        kind: "http",
        env: { A: "1" },
        timeoutMs: 5000,
        code: { directory: join(folder, "fn") },
      },
      {
        urn,
        kind: "event",
        env: {},
        code: { command: ["node", "main.js"], cwd: join(folder, "sub") },
      },
    ]);
    expect(file.accounts).toEqual([account]);
  });

  it.each<[string, unknown]>([
    ["no JSON", "{"],
    ["no list of functions", {}],
    ["a function without code", { functions: [{ urn }] }],
    ["a function with two kinds of code", { functions: [{ ...one, command: ["x"] }] }],
    ["an empty command", { functions: [{ urn, command: [] }] }],
    ["a setting with a typing error", { functions: [{ ...one, timeoutMS: 1 }] }],
    ["a setting that is no number", { functions: [{ ...one, timeoutMs: "1" }] }],
    ["a negative setting", { functions: [{ ...one, timeoutMs: -1 }] }],
    ["another kind", { functions: [{ ...one, kind: "batch" }] }],
    ["variables that are no texts", { functions: [{ ...one, env: { A: 1 } }] }],
    ["an account without a key", { functions: [one], accounts: [{ accessKey: "A" }] }],
    ["something else beside them", { functions: [one], more: 1 }],
  ])("is refused with %s", async (_name, content) => {
    await expect(read(content)).rejects.toMatchObject({ code: "FG_OPTIONS_INVALID" });
  });

  it("is refused with a wrong URN", async () => {
    await expect(read({ functions: [{ ...one, urn: "urn:x" }] })).rejects.toMatchObject({
      code: "FG_URN_INVALID",
    });
  });
});

describe("a file of accounts", () => {
  const account = { accessKey: "AK", secretKey: "SK", projects: ["p"] };

  async function readAccounts(content: object) {
    await using scratch = await mkdtempDisposable(join(tmpdir(), "accounts-"));
    const path = join(scratch.path, "accounts.json");
    await writeFile(path, JSON.stringify(content));
    return await readAccountsFile(path);
  }

  it("has accounts and nothing else", async () => {
    expect(await readAccounts({ accounts: [account] })).toEqual([account]);
    for (const content of [{}, { accounts: [{}] }, { accounts: [account], functions: [] }]) {
      await expect(readAccounts(content)).rejects.toMatchObject({ code: "FG_OPTIONS_INVALID" });
    }
  });
});

describe("the command of the stand-in", () => {
  const MAIN = fileURLToPath(new URL("./main.ts", import.meta.url));

  it("serves the functions of a file until it is asked to stop", async () => {
    await using scratch = await mkdtempDisposable(join(tmpdir(), "functions-"));
    const program = `require("node:http").createServer((request, response) => response.end("hi"))
      .listen(Number(process.env.PORT), "127.0.0.1");`;
    await writeFile(join(scratch.path, "main.cjs"), program);
    const file = join(scratch.path, "functions.json");
    await writeFile(
      file,
      JSON.stringify({ functions: [{ urn, command: [process.execPath, "main.cjs"] }] }),
    );
    const child = spawn(process.execPath, [MAIN, "--file", file, "--listen", "127.0.0.1:0"], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    const line = await new Promise<string>((resolve) => {
      child.stdout.once("data", (chunk: Buffer) => resolve(chunk.toString()));
    });
    const { listening } = JSON.parse(line) as { listening: string };
    const path = `/v2/${urn.split(":")[3]}/fgs/functions/${urn}/invocations`;
    const response = await fetch(`${listening}${path}`, {
      method: "POST",
      body: JSON.stringify({ httpMethod: "GET", path: "/" }),
    });
    const { body } = (await response.json()) as { body: string };
    expect(Buffer.from(body, "base64").toString()).toBe("hi");
    child.kill("SIGTERM");
    const code = await new Promise((resolve) => {
      child.once("exit", resolve);
    });
    expect(code).toBe(0);
  });

  it("asks for the keys of the accounts that lie in a file of their own", async () => {
    await using scratch = await mkdtempDisposable(join(tmpdir(), "functions-"));
    const [file, accounts] = ["functions.json", "accounts.json"].map((name) =>
      join(scratch.path, name),
    ) as [string, string];
    await writeFile(file, JSON.stringify({ functions: [{ urn, command: ["false"] }] }));
    const keys = [{ accessKey: "AK", secretKey: "SK", projects: [urn.split(":")[3]] }];
    await writeFile(accounts, JSON.stringify({ accounts: keys }));
    const words = [MAIN, "--file", file, "--accounts", accounts, "--listen", "127.0.0.1:0"];
    const child = spawn(process.execPath, words, { stdio: ["ignore", "pipe", "inherit"] });
    const line = await new Promise<string>((resolve) => {
      child.stdout.once("data", (chunk: Buffer) => resolve(chunk.toString()));
    });
    const { listening } = JSON.parse(line) as { listening: string };
    const path = `/v2/${urn.split(":")[3]}/fgs/functions/${urn}/invocations`;
    const response = await fetch(`${listening}${path}`, { method: "POST", body: "{}" });
    expect(response.status).toBe(401);
    child.kill("SIGTERM");
    await new Promise((resolve) => {
      child.once("exit", resolve);
    });
  });

  it.each([[[]], [["--file", "x", "--listen", "nowhere"]], [["--unknown"]]])(
    "explains itself for %j",
    async (args) => {
      const child = spawn(process.execPath, [MAIN, ...args], { stdio: "ignore" });
      const code = await new Promise((resolve) => {
        child.once("exit", resolve);
      });
      expect(code).toBe(2);
    },
  );
});

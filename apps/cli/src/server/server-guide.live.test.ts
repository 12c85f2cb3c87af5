import { execFile } from "node:child_process";
import { copyFile, mkdir, mkdtempDisposable, readFile, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import type { BootstrapCredentials } from "@stackwright/engine";
import { beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { runSpawned, spawnCommand } from "../testing/spawned-command.ts";

// apps/engine/docs/server.md as somebody follows it: its commands as they stand there, with other ports.

const ROOT = fileURLToPath(new URL("../../../..", import.meta.url));
const PAGE = join(ROOT, "apps/engine/docs/server.md");
const run = promisify(execFile);

const MAIN = `
resource "terraform_data" "a" {
  input = sensitive("s3cret")
}
`;

/** What a shell is given in a section of the page, block by block. */
async function commandsOf(section: string): Promise<string[]> {
  const text = await readFile(PAGE, "utf8");
  const [, body = ""] = text.split(`\n## ${section}\n`);
  const [own = ""] = body.split("\n## ");
  return [...own.matchAll(/^```sh\n(.*?)^```$/gms)].map(([, content = ""]) => content);
}

describe("the page of the server", { timeout: 120_000 }, () => {
  let root: string;

  beforeEach(async () => {
    const scratch = await mkdtempDisposable(join(tmpdir(), "server guide "));
    onTestFinished(() => scratch.remove());
    root = scratch.path;
  });

  it("lets a second person work on the same stack, and leaves others out", async (ctx) => {
    const hasCurl = await run("curl", ["--version"]).then(
      () => true,
      () => false,
    );
    ctx.skip(!hasCurl, "the page's requests are made with curl, which is not installed");
    const blocks = await commandsOf("A second person");
    const [serve = "", token = "", access = "", revoke = "", key = "", second = ""] = blocks;
    expect(blocks).toHaveLength(6);

    const [, ...words] = serve.trim().split(" ");
    expect(words).toEqual(expect.arrayContaining(["serve", "--storage-port", "7401"]));
    const server = spawnCommand(
      [...words.map((word) => (word === "7401" ? "0" : word)), "--port", "0"],
      { cwd: root },
    );
    onTestFinished(() => server[Symbol.asyncDispose]());
    const [, url = ""] = await server.waitFor(/The server is at (http:\S+)/);
    const [, store = ""] = await server.waitFor(/The store is at (stackwright:\S+)/);
    const env = {
      HOME: root,
      PATH: `${dirname(process.execPath)}:${ROOT}/node_modules/.bin:${process.env.PATH}`,
    };
    const shell = async (text: string, cwd: string) => {
      const own = text
        .replaceAll("http://127.0.0.1:7400", url)
        .replaceAll("stackwright://127.0.0.1:7401", store);
      return (await run("sh", ["-ec", own], { cwd, env })).stdout;
    };

    const listed = await shell(token + access + revoke + key, root);
    expect(JSON.parse(listed)).toMatchObject({
      credentials: expect.arrayContaining([
        expect.objectContaining({ description: "Maria", roles: ["worker"] }),
        expect.objectContaining({ description: "build machine", roles: ["registry:deployer"] }),
      ]),
    });
    expect(JSON.parse(await readFile(join(root, "registry-key.json"), "utf8"))).toEqual({
      accessKey: expect.stringMatching(/^SW/),
      secretKey: expect.any(String),
    });
    expect(await shell(token + revoke.split("\n")[0], root)).not.toContain("build machine");
    expect((await stat(join(root, "stack.key"))).mode & 0o777).toBe(0o600);

    const first = JSON.parse(
      await readFile(join(root, "first.json"), "utf8"),
    ) as BootstrapCredentials;
    await writeFile(join(root, "main.tf"), MAIN);
    const up = await runSpawned(["up", "--yes"], {
      cwd: root,
      env: {
        STACKWRIGHT_STORE: store,
        STACKWRIGHT_TOKEN: first.token,
        STACKWRIGHT_KEY_FILE: "stack.key",
      },
    });
    expect(up.text).toContain("1 added");

    const folder = join(root, "second");
    await mkdir(folder);
    for (const name of ["main.tf", "second.json", "stack.key"]) {
      await copyFile(join(root, name), join(folder, name));
    }
    expect(await shell(second, folder)).toContain("No changes");
    const without = second.replace(/^export STACKWRIGHT_KEY_FILE.*\n/m, "");
    await expect(shell(without, folder)).rejects.toMatchObject({
      stderr: expect.stringContaining("key"),
    });
    expect(await server.stop()).toBe(0);
  });

  it("names a command that a service manager can end", async () => {
    const [command = ""] = await commandsOf("Stopping");
    const [program = "", ...words] = command.trim().split(" ");
    expect(words.slice(0, 2)).toEqual(["serve", "--store"]);
    expect((await stat(join(ROOT, program))).isFile()).toBe(true);
    const server = spawnCommand([...words, "--port", "0"], { cwd: root });
    onTestFinished(() => server[Symbol.asyncDispose]());
    await server.waitFor(/The server is at/);
    expect(await server.stop("SIGTERM")).toBe(0);
  });
});

import { mkdtempDisposable, readFile, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { BootstrapCredentials } from "@stackwright/engine";
import { beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { runSpawned, type SpawnedCommand, spawnCommand } from "../testing/spawned-command.ts";

/* A server that is stopped in the middle of an apply whose state it keeps. */

const COUNT = 1000;
const MAIN = `resource "terraform_data" "a" {\n  count = ${COUNT}\n  input = count.index\n}\n`;

describe("a server that ends in the middle of an apply", { timeout: 180_000 }, () => {
  let cwd: string;
  let env: NodeJS.ProcessEnv;
  let port: string;

  const serve = async (storagePort: string): Promise<SpawnedCommand> => {
    const words = "serve --store sqlite:data --bootstrap-file first.json --port 0 --storage-port";
    const server = spawnCommand([...words.split(" "), storagePort], { cwd });
    onTestFinished(() => server[Symbol.asyncDispose]());
    [, port = ""] = await server.waitFor(/The store is at stackwright:\/\/127\.0\.0\.1:(\d+)/);
    return server;
  };

  /** An apply at a point where much is done and much is not, and the server is gone. */
  const interrupted = async () => {
    const server = await serve("0");
    const first = await readFile(join(cwd, "first.json"), "utf8");
    const { token } = JSON.parse(first) as BootstrapCredentials;
    env = { STACKWRIGHT_STORE: `stackwright://127.0.0.1:${port}`, STACKWRIGHT_TOKEN: token };
    const up = spawnCommand(["up", "--yes"], { cwd, env });
    onTestFinished(() => up[Symbol.asyncDispose]());
    await up.waitFor(/a\[40\]: Creation complete/);
    expect(await server.stop("SIGTERM")).toBe(0);
    expect(up.text()).not.toContain("Apply complete");
    return up;
  };

  beforeEach(async () => {
    const scratch = await mkdtempDisposable(join(tmpdir(), "away-"));
    onTestFinished(() => scratch.remove());
    cwd = scratch.path;
    await writeFile(join(cwd, "main.tf"), MAIN);
  });

  it("is waited for, and nothing is said when it is back soon", async () => {
    const up = await interrupted();
    await serve(port);
    expect(await up.ended).toBe(0);
    expect(up.text()).toContain(`Apply complete: ${COUNT} added, 0 changed, 0 destroyed.`);
    expect(up.text()).not.toMatch(/error|warning/i);
    expect((await runSpawned(["plan"], { cwd, env })).text).toContain("No changes");
  });

  it("is named where it stays away, with how to continue, and the next run does so", async () => {
    const up = await interrupted();
    expect(await up.ended).toBe(1);
    const said = up.text().slice(up.text().indexOf("Error:"));
    expect(said).toContain(
      "The apply stopped in the middle: the right to write to the stack was lost: the lease could not be renewed in time: ",
    );
    expect(said).toContain(`Check that the store stackwright://127.0.0.1:${port} answers`);
    await serve(port);
    const next = await runSpawned(["up", "--yes"], { cwd, env });
    expect(next.code).toBe(0);
    const added = Number(/Apply complete: (\d+) added, 0 changed/.exec(next.text)?.[1]);
    expect(added).toBeGreaterThan(0);
    expect(added).toBeLessThan(COUNT - 40);
    expect((await runSpawned(["plan"], { cwd, env })).text).toContain("No changes");
  });
});

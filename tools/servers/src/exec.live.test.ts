import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { readdirSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { describe, expect, it } from "vitest";
import { isAlive } from "./child-processes.ts";
import { findPostgres } from "./postgres-installation.ts";

const main = join(import.meta.dirname, "main.ts");
const none = findPostgres().length === 0;
if (none) process.stdout.write("skipped: PostgreSQL is not installed\n");

describe.skipIf(none)("exec", () => {
  const only = ["exec", "--servers", "postgres", "--tools", "none", "--"];

  it("gives the command the variables and exits with its code", () => {
    const { status, stdout } = spawnSync(
      process.execPath,
      [
        main,
        ...only,
        "sh",
        "-c",
        'echo "$TEST_POSTGRES_URL"; test -x "$TEST_POSTGRES_BIN/postgres" && exit 7',
      ],
      { encoding: "utf8" },
    );
    expect(status).toBe(7);
    expect(stdout).toMatch(/^postgres:\/\/stackwright:\w+@127\.0\.0\.1:\d+\/postgres\n$/);
  });

  it("exits as the command did when a signal ended that", () => {
    const { status } = spawnSync(process.execPath, [main, ...only, "sh", "-c", "kill -TERM $$"]);
    expect(status).toBe(143);
  });

  it("passes a request to end on to the command", async () => {
    const child = spawn(process.execPath, [main, ...only, "sh", "-c", "echo up; exec sleep 600"], {
      stdio: ["ignore", "pipe", "ignore"],
    });
    await once(child.stdout, "data");
    child.kill("SIGTERM");
    const [code] = (await once(child, "exit")) as [number];
    expect(code).toBe(143);
  });
});

describe.skipIf(none)("serve", () => {
  it("is controlled over its input, and ends with it", async () => {
    const { child, lines, first } = await serve();
    const ask = async (order: string) => {
      child.stdin.write(`${order}\n`);
      return JSON.parse((await lines.next()).value as string) as {
        ok: boolean;
        pid: number | null;
      };
    };
    expect(await ask("kill9 0")).toEqual({ ok: true, pid: null });
    const { pid } = await ask("restart 0");
    expect(isAlive(pid!)).toBe(true);
    child.stdin.end();
    expect(await once(child, "exit")).toEqual([0, null]);
    expect(isAlive(pid!)).toBe(false);
    expect(folderOf(first.servers[0]!.dataDir)).toBe(false);
  });

  it("leaves nothing behind when it is killed", async () => {
    const { child, first } = await serve();
    const [server] = first.servers;
    child.kill("SIGKILL");
    await expect.poll(() => isAlive(server!.pid), { timeout: 20_000 }).toBe(false);
    await expect.poll(() => folderOf(server!.dataDir), { timeout: 20_000 }).toBe(false);
  });
});

async function serve() {
  const child = spawn(process.execPath, [main, "serve", "postgres"], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const first = JSON.parse((await lines.next()).value as string) as {
    servers: { pid: number; dataDir: string }[];
  };
  return { child, lines, first };
}

/** Whether the server's folder is still in the temporary folder. */
function folderOf(dataDir: string): boolean {
  return readdirSync(tmpdir()).some((name) => dataDir.includes(`/${name}/`));
}

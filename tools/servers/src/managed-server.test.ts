import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { isAlive } from "./child-processes.ts";
import { OBEDIENT, ShellServer } from "./testing/shell-server.ts";

/** Children and states of processes are read where Linux shows them. */
const linux = process.platform === "linux";

async function started(script: string): Promise<ShellServer> {
  const server = new ShellServer(script);
  await server.launch();
  await server.ready();
  return server;
}

describe("ManagedServer", () => {
  it("ends the process and removes the folder on stop, once", async () => {
    const server = await started(OBEDIENT);
    const pid = server.pid!;
    await Promise.all([server.stop(), server.stop()]);
    expect(isAlive(pid)).toBe(false);
    expect(existsSync(server.folder)).toBe(false);
    expect(server.pid).toBeUndefined();
    await expect(server.launch()).rejects.toThrow("was stopped");
  });

  it("stops with await using", async () => {
    let pid: number;
    {
      await using server = await started(OBEDIENT);
      pid = server.pid!;
      expect(isAlive(pid)).toBe(true);
    }
    expect(isAlive(pid)).toBe(false);
  });

  it("can be stopped although it was never launched", async () => {
    const server = new ShellServer(OBEDIENT);
    await server.stop();
    expect(existsSync(server.folder)).toBe(false);
  });

  it.runIf(linux)(
    "kills the process and its children at once, and starts again on the same data",
    async () => {
      // The children have a session of their own, as PostgreSQL's backends do.
      const script =
        "echo start >> data; setsid sleep 600 & echo $! > child; echo $$ > ready; wait";
      await using server = await started(script);
      const first = server.pid!;
      const child = Number(readFileSync(join(server.folder, "child"), "utf8"));
      await server.kill9();
      expect([isAlive(first), isAlive(child), server.pid]).toEqual([false, false, undefined]);

      await server.restart();
      expect(server.pid).not.toBe(first);
      expect(readFileSync(join(server.folder, "data"), "utf8")).toBe("start\nstart\n");
      await server.kill9();
    },
  );

  it.runIf(linux)("stops a frozen server", async () => {
    const server = await started(OBEDIENT);
    const pid = server.pid!;
    server.pause();
    await expect.poll(() => state(pid)).toBe("T");
    server.resume();
    await expect.poll(() => state(pid)).toBe("S");
    server.pause();
    await server.stop();
    expect(isAlive(pid)).toBe(false);
  });

  it("says how a server ended that did not come up, with its last words", async () => {
    await using server = new ShellServer("echo port is taken >&2; exit 3");
    await server.launch();
    await expect(server.ready()).rejects.toMatchObject({
      code: "SERVER_START_FAILED",
      message: expect.stringMatching(/the script ended with exit code 3\n {2}port is taken$/),
    });
  });

  it("says that a server was not ready in time", async () => {
    await using server = new ShellServer("echo thinking; exec sleep 600", { startTimeoutMs: 200 });
    await server.launch();
    await expect(server.ready()).rejects.toMatchObject({
      code: "SERVER_START_TIMEOUT",
      message: expect.stringMatching(/after 0.2 s\n {2}thinking$/),
    });
  });

  it("gives up waiting on request", async () => {
    await using server = new ShellServer("exec sleep 600");
    await server.launch();
    await expect(server.ready(AbortSignal.abort(new Error("enough")))).rejects.toThrow("enough");
  });

  it("does not hand our environment to the server", async () => {
    process.env.STACKWRIGHT_TEST_LEAK = "1";
    try {
      await using server = await started("env > variables; echo $$ > ready; exec sleep 600");
      const names = readFileSync(join(server.folder, "variables"), "utf8").match(/^\w+/gm);
      expect(names?.toSorted()).toEqual(["HOME", "LC_ALL", "PATH", "PWD", "TZ"]);
    } finally {
      delete process.env.STACKWRIGHT_TEST_LEAK;
    }
  });
});

describe("when the process that started a server is killed", () => {
  it.runIf(linux)("leaves neither the server, nor its children, nor the folder", async () => {
    const { pid, folder, owner } = await serverOfAnotherProcess(
      "setsid sleep 600 & echo $! > child; echo $$ > ready; wait",
    );
    const child = Number(readFileSync(join(folder, "child"), "utf8"));
    expect([isAlive(pid), isAlive(child)]).toEqual([true, true]);
    owner.kill("SIGKILL");
    await expect.poll(() => isAlive(pid) || isAlive(child), { timeout: 10_000 }).toBe(false);
    await expect.poll(() => existsSync(folder), { timeout: 10_000 }).toBe(false);
  });

  it("kills a server that ignores every request", async () => {
    const { pid, folder, owner } = await serverOfAnotherProcess(
      "trap '' TERM INT HUP; echo $$ > ready; while :; do sleep 1; done",
    );
    owner.kill("SIGKILL");
    await expect.poll(() => isAlive(pid), { timeout: 10_000 }).toBe(false);
    await expect.poll(() => existsSync(folder), { timeout: 10_000 }).toBe(false);
  });
});

/** A node process that starts a server and waits; it tells us pid and folder on its output. */
async function serverOfAnotherProcess(script: string) {
  const source = join(import.meta.dirname, "testing/shell-server.ts");
  const owner = spawn(
    process.execPath,
    [
      "--input-type=module",
      "-e",
      `import { ShellServer } from ${JSON.stringify(source)};
       const server = new ShellServer(${JSON.stringify(script)});
       await server.launch();
       await server.ready();
       console.log(JSON.stringify({ pid: server.pid, folder: server.folder }));
       setTimeout(() => {}, 600_000);`,
    ],
    { stdio: ["ignore", "pipe", "inherit"] },
  );
  const [line] = (await once(owner.stdout, "data")) as [Buffer];
  const { pid, folder } = JSON.parse(line.toString()) as { pid: number; folder: string };
  return { pid, folder, owner };
}

function state(pid: number): string | undefined {
  return /\) (\w) /.exec(readFileSync(`/proc/${pid}/stat`, "utf8"))?.[1];
}

import { execFileSync } from "node:child_process";
import { readlinkSync, realpathSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import process from "node:process";
import { silentLogger } from "@stackwright/base/logger";
import { expect, it, onTestFinished } from "vitest";
import { testJob } from "../testing/test-job.ts";
import { createChildExecutor } from "./child-executor.ts";
import { enterFolder } from "./enter-folder.ts";
import type { ExecutionJob } from "./execution-job.ts";

const HOST = {
  onEvent: () => undefined,
  beginPlanning: async () => Promise.resolve(),
  beginApply: async () => Promise.resolve(),
  readOtherStack: async () => Promise.resolve(undefined),
  identityTokens: async () => Promise.resolve([]),
  readRegistry: async () => ({ versions: [], withdrawn: [] }),
  recordState: async () => Promise.resolve(),
  handInSchema: async () => Promise.resolve("refused" as const),
};

async function start(
  change: Partial<ExecutionJob>,
  options: Parameters<typeof createChildExecutor>[0] = {},
) {
  const executor = createChildExecutor(options);
  onTestFinished(() => executor[Symbol.asyncDispose]());
  return executor.start(await testJob(change), HOST);
}

it("a job that is larger than a frame ends its execution, not the server", async () => {
  const { ended } = await start({ variables: { word: "x".repeat(9 * 1024 * 1024) } });
  expect(await ended).toEqual({ how: "lost", reason: "too_large" });
});

it("an execution whose process cannot be started ends", async () => {
  const { ended } = await start({ folder: "/nowhere/at/all" });
  expect(await ended).toEqual({ how: "exit", code: 1 });
});

/** The executors of this process, and where they are. */
function executors(): ReadonlyMap<number, string> {
  const lines = execFileSync("ps", ["-eo", "pid=,ppid=,args="], { encoding: "utf8" }).split("\n");
  const found = lines.map((line) => line.trim().split(/\s+/));
  return new Map(
    found
      .filter(
        ([, parent, ...text]) =>
          Number(parent) === process.pid && /child-main/.test(text.join(" ")),
      )
      .map(([pid]) => [Number(pid), readlinkSync(`/proc/${pid}/cwd`)]),
  );
}

it.runIf(process.platform === "linux")(
  "each execution has a process of its own, also one that waited for it, in the folder of its job alone",
  { timeout: 60_000 },
  async () => {
    const first = await testJob();
    const second = await testJob();
    const socketPath = join(first.folder, "store");
    // A store that answers nothing, so that executors stay with it.
    let connected = Promise.withResolvers<void>();
    const server = createServer((socket) => {
      socket.on("error", () => undefined);
      connected.resolve();
    });
    await new Promise<void>((resolve) => server.listen(socketPath, resolve));
    const executor = createChildExecutor();
    onTestFinished(async () => {
      await executor[Symbol.asyncDispose]();
      server.close();
    });
    const store = { address: { socketPath }, token: "token" };
    const one = executor.start({ ...first, store }, HOST);
    await connected.promise;
    const before = executors();
    const [owner] = [...before].filter(([, at]) => at === realpathSync(first.folder));
    const [spare] = [...before].filter(([, at]) => at === "/");
    expect(spare).toBeDefined();
    await one[Symbol.asyncDispose]();
    connected = Promise.withResolvers();
    executor.start({ ...second, store }, HOST);
    await connected.promise;
    const after = executors();
    expect(after.get(spare?.[0] ?? 0)).toBe(realpathSync(second.folder));
    expect(after.has(owner?.[0] ?? 0)).toBe(false);
    // No step is left where it was, and others wait outside of all folders.
    expect(new Set(after.values())).toEqual(new Set(["/", realpathSync(second.folder)]));
  },
);

it("a process takes the folder of its job for its home", () => {
  const env: NodeJS.ProcessEnv = { HOME: "/root", PATH: "/bin" };
  const entered: string[] = [];
  enterFolder({ folder: "/runs/1" }, { env, chdir: (path) => void entered.push(path) });
  expect(entered).toEqual(["/runs/1"]);
  expect(env).toEqual({ HOME: "/runs/1", TMPDIR: "/runs/1", PATH: "/bin" });
});

it("an execution whose processes have more memory than it may ends, and says so", async () => {
  // No process of Node.js has so little.
  const { ended } = await start({}, { maxMemoryBytes: 8 * 1024 * 1024 });
  expect(await ended).toEqual({ how: "lost", reason: "memory" });
});

it("an execution whose processes use more processor time than they may ends, and says so", async () => {
  // The first look comes after more than that.
  const { ended } = await start({}, { maxProcessorMs: 0 });
  expect(await ended).toEqual({ how: "lost", reason: "processor" });
});

it("what an executor writes reaches the log of the operator without secrets", async () => {
  const lines: unknown[] = [];
  const warn = (data: object, message: string): void => void lines.push([data, message]);
  const logger = { ...silentLogger, warn };
  // The child cannot connect, and prints the error with the path of the socket.
  const address = { socketPath: "/nowhere/canary-in-a-path/s" };
  const store = { address, token: "canary-in-a-path" };
  const { ended } = await start({ store }, { logger });
  await ended;
  const text = JSON.stringify(lines);
  expect(text).toContain("an executor wrote");
  expect(text).not.toContain("canary");
});

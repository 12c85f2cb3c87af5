import { silentLogger } from "@stackwright/base/logger";
import { expect, it, onTestFinished } from "vitest";
import { testJob } from "../testing/test-job.ts";
import { createChildExecutor } from "./child-executor.ts";
import type { ExecutionJob } from "./execution-job.ts";

const HOST = {
  onEvent: () => undefined,
  beginPlanning: async () => Promise.resolve(),
  beginApply: async () => Promise.resolve(),
  readOtherStack: async () => Promise.resolve(undefined),
  identityTokens: async () => Promise.resolve([]),
  readRegistry: async () => ({ versions: [], withdrawn: [] }),
  recordState: async () => Promise.resolve(),
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

it("an execution whose processes have more memory than it may ends, and says so", async () => {
  // No process of Node.js has so little.
  const { ended } = await start({}, { maxMemoryBytes: 8 * 1024 * 1024 });
  expect(await ended).toEqual({ how: "lost", reason: "memory" });
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

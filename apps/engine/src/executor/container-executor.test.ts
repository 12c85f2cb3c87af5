import { mkdtempDisposable, readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { silentLogger } from "@stackwright/base/logger";
import { expect, it, onTestFinished } from "vitest";
import { testJob } from "../testing/test-job.ts";
import { OrphanSweep } from "../worker/orphan-sweep.ts";
import { CHILD_PROTOCOL } from "./child-protocol.ts";
import { createContainerExecutor } from "./container-executor.ts";

// Against an engine that is played by processes; `container-worker.live.test.ts` has a real one.

const ENGINE = fileURLToPath(new URL("../testing/played-engine.ts", import.meta.url));
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
const WAIT = { timeout: 30_000 };
const WAITING = "process.stdin.resume(); setInterval(() => undefined, 1000)";
/** A program that says frames, and ends with a code. */
function saying(code: number, ...frames: readonly object[]): string {
  return `
    for (const frame of ${JSON.stringify(frames)}) {
      const content = Buffer.from(JSON.stringify(frame));
      const head = Buffer.alloc(4);
      head.writeUInt32BE(content.length);
      process.stdout.write(Buffer.concat([head, content]));
    }
    process.exitCode = ${code};
  `;
}

async function open(program: string, more: object = {}) {
  const scratch = await mkdtempDisposable(join(tmpdir(), "engine-"));
  onTestFinished(() => scratch.remove());
  const env = {
    PATH: process.env["PATH"],
    PLAYED_PROGRAM: program,
    HTTPS_PROXY: "http://user:canary@proxy:1",
    SSL_CERT_FILE: ENGINE,
    TF_CLI_CONFIG_FILE: join(scratch.path, "missing"),
  };
  const options = {
    image: "stackwright:1",
    command: [process.execPath, ENGINE, scratch.path],
    instance: "ours",
    logger: silentLogger,
    env,
  };
  const executor = createContainerExecutor({ ...options, ...more });
  onTestFinished(() => executor[Symbol.asyncDispose]());
  return { executor, options, folder: scratch.path };
}

it("gives the result of the executor, and leaves no container", async () => {
  const result = { phase: "no_changes", revision: "3" };
  const hello = { type: "hello", protocol: CHILD_PROTOCOL, pid: 1 };
  const { executor } = await open(saying(0, hello, { type: "result", result }));
  const { ended } = executor.start(await testJob(), HOST);
  expect(await ended).toEqual({ how: "result", result });
  expect(await executor.list?.()).toEqual([]);
});

it("says of a container that ends without a result how it ended", async () => {
  const { executor } = await open("process.exitCode = 7");
  expect(await executor.start(await testJob(), HOST).ended).toEqual({ how: "exit", code: 7 });
  // The played engine says of this code that the memory was not enough.
  const { executor: full } = await open("process.exitCode = 99");
  const end = { how: "lost", reason: "memory" };
  expect(await full.start(await testJob(), HOST).ended).toEqual(end);
});

it("ends an executor of another release, and one that does not answer", async () => {
  // The first version hands in no schemas, and looks for the hosts of its registry elsewhere in the job.
  for (const protocol of [1, 9]) {
    const other = await open(saying(0, { type: "hello", protocol, pid: 1 }) + WAITING);
    const { ended } = other.executor.start(await testJob(), HOST);
    expect(await ended).toEqual({ how: "signal", signal: "SIGKILL" });
  }
  const silent = await open(WAITING, { startDeadlineMs: 50 });
  const late = silent.executor.start(await testJob(), HOST).ended;
  expect(await late).toEqual({ how: "lost", reason: "start_deadline" });
  expect(await silent.executor.list?.()).toEqual([]);
});

it("ends a container at once that is canceled while it is started", async () => {
  const { executor } = await open(WAITING);
  const execution = executor.start(await testJob(), HOST);
  execution.stop(2);
  expect(await execution.ended).toEqual({ how: "signal", signal: "SIGKILL" });
  expect(await executor.list?.()).toEqual([]);
});

it("does not end a container of the same job that another worker has", async () => {
  const { executor, options } = await open(WAITING);
  const first = executor.start(await testJob(), HOST);
  await expect.poll(async () => executor.list?.(), WAIT).toHaveLength(1);
  const env = { ...options.env, PLAYED_PROGRAM: "process.exitCode = 3" };
  await using next = createContainerExecutor({ ...options, env });
  expect(await next.start(await testJob(), HOST).ended).toEqual({ how: "exit", code: 3 });
  expect(await executor.list?.()).toEqual([expect.objectContaining({ name: "sw-1-1" })]);
  await first[Symbol.asyncDispose]();
});

it("ends executions without a claim, and no others", async () => {
  const { executor, options } = await open(WAITING);
  const ours = executor.start(await testJob({ name: "sw-1-1" }), HOST);
  const dead = executor.start(await testJob({ name: "sw-2-1" }), HOST);
  await expect.poll(async () => executor.list?.(), WAIT).toHaveLength(2);
  await using other = createContainerExecutor({ ...options, instance: "of another store" });
  expect(await other.list?.()).toEqual([]);
  const clock = { monotonicMs: () => 0 } as never;
  const sweep = new OrphanSweep({ executor, clock, logger: silentLogger }, async (names) =>
    Promise.resolve(names.filter((name) => name === "sw-2-1")),
  );
  sweep.begin();
  await sweep.ended;
  expect((await dead.ended).how).toBe("signal");
  expect((await executor.list?.())?.map(({ name }) => name)).toEqual(["sw-1-1"]);
  await ours[Symbol.asyncDispose]();
});

it("shows no secret in the arguments of a container, and nothing else of the machine", async () => {
  const bounds = { maxMemoryBytes: 64 * 1024 ** 2, cpuPercent: 150 };
  const more = { volumes: ["/srv:/srv:ro"], network: "none", ...bounds };
  const { executor, folder } = await open("0", more);
  const job = await testJob({
    variables: { word: "canary" },
    keys: [{ number: 1, bytes: "canary" }],
    store: { address: { socketPath: "/tmp/sw-1/s" }, token: "canary" },
  });
  await executor.start(job, HOST).ended;
  const given = (await readFile(join(folder, "arguments"), "utf8")).split("\n");
  expect(given.join(" ")).not.toContain("canary");
  const volumes = given.filter((_, at) => given[at - 1] === "--volume");
  expect(volumes).toEqual([
    `${job.folder}:${job.folder}`,
    `${job.providersFolder}/containers/acme/web:${job.providersFolder}`,
    `${ENGINE}:${ENGINE}:ro`,
    "/srv:/srv:ro",
    "/tmp/sw-1:/tmp/sw-1",
  ]);
  expect(given).toEqual(expect.arrayContaining(["--read-only", "no-new-privileges", "ALL"]));
  expect(given[given.indexOf("--memory") + 1]).toBe("67108864");
  expect(given[given.indexOf("--cpus") + 1]).toBe("1.50");
  expect(given.slice(-3)).toEqual(["stackwright", "stackwright:1", "execute"]);
});

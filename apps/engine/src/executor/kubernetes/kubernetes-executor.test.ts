import { mkdtempDisposable } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect } from "node:tls";
import { systemClock } from "@stackwright/base/clock";
import { type Logger, silentLogger } from "@stackwright/base/logger";
import { expect, it, onTestFinished } from "vitest";
import { startFakeCluster } from "../../testing/fake-cluster.ts";
import { playKubelet } from "../../testing/played-kubelet.ts";
import { testJob } from "../../testing/test-job.ts";
import { CHILD_PROTOCOL } from "../child-protocol.ts";
import { DOOR_TLS, ExecutionDoor } from "./execution-door.ts";
import { createKubernetesExecutor } from "./kubernetes-executor.ts";

// On a fake API server, with pods that are processes; `kubernetes-worker.live.test.ts` has a real one.

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
const WAIT = { timeout: 60_000 };
const TIMING = {
  refusedMs: 200,
  startingLookMs: 30,
  runningLookMs: 100,
  endMs: 60_000,
  graceSeconds: 1,
  removalMs: 10_000,
  againMs: 30,
};
const RESULT = { phase: "no_changes", revision: "3" };
const SAID = [
  { type: "hello", protocol: CHILD_PROTOCOL, pid: 1 },
  { type: "result", result: RESULT },
];

/** The program of a pod that calls its worker, says frames, and ends with a code when the connection has ended. */
function calling(frames: readonly object[], code = 0, isLasting = false): string {
  return `
    const option = (name) => process.argv.find((word) => word.startsWith("--" + name + "=")).slice(name.length + 3);
    const [, host, port] = /^(.*):(\\d+)$/.exec(option("worker"));
    const psk = Buffer.from(require("node:fs").readFileSync(option("key-file"), "utf8"), "base64");
    const identity = option("name") + "/control";
    const socket = require("node:tls").connect({
      host, port, ...${JSON.stringify(DOOR_TLS)},
      pskCallback: () => ({ psk, identity }),
      checkServerIdentity: () => undefined,
    });
    socket.once("secureConnect", () => {
      for (const frame of ${JSON.stringify(frames)}) {
        const content = Buffer.from(JSON.stringify(frame));
        const head = Buffer.alloc(4);
        head.writeUInt32BE(content.length);
        socket.write(Buffer.concat([head, content]));
      }
      if (!${isLasting}) socket.end();
    });
    socket.resume().once("close", () => process.exit(${code}));
  `;
}

interface OpenOptions {
  readonly program?: string;
  readonly env?: NodeJS.ProcessEnv;
  readonly startDeadlineMs?: number;
  readonly logger?: Logger;
  /** Pods execute the command of the repository. */
  readonly isReal?: boolean;
  readonly hasKubelet?: boolean;
}

async function open({
  program = calling(SAID),
  env = {},
  logger = silentLogger,
  isReal = false,
  hasKubelet = true,
  ...more
}: OpenOptions = {}) {
  const cluster = await startFakeCluster();
  const scratch = await mkdtempDisposable(join(tmpdir(), "pod-"));
  onTestFinished(() => scratch.remove());
  const play = async () => {
    const kubelet = await playKubelet({
      send: cluster.send,
      namespace: "runs",
      ...(!isReal && {
        programOf: (image: string, args: readonly string[]) =>
          image === "missing" ? undefined : [process.execPath, "--eval", program, "--", ...args],
      }),
    });
    onTestFinished(() => kubelet[Symbol.asyncDispose]());
    cluster.logs = kubelet.logOf;
    return kubelet;
  };
  const options = {
    image: "stackwright:1",
    namespace: "runs",
    address: "127.0.0.1",
    port: 0,
    host: "127.0.0.1",
    instance: "ours",
    config: cluster.config,
    directory: scratch.path,
    podDirectory: join(scratch.path, "pod"),
    logger,
    clock: systemClock,
    env,
    timing: TIMING,
    ...more,
  };
  const create = async (change: object = {}) => {
    const executor = await createKubernetesExecutor({ ...options, ...change });
    onTestFinished(() => executor[Symbol.asyncDispose]());
    return executor;
  };
  const kinds = () => [...cluster.objects.keys()].map((key) => key.slice(0, key.indexOf("/")));
  return { cluster, create, kinds, play, kubelet: hasKubelet ? await play() : undefined };
}

it("gives the result of the pod, and leaves nothing in the cluster", async () => {
  const { create, kinds } = await open();
  const executor = await create();
  expect(await executor.start(await testJob(), HOST).ended).toEqual({
    how: "result",
    result: RESULT,
  });
  expect(kinds()).not.toContain("jobs");
  await expect.poll(kinds, WAIT).toEqual([]);
});

it("says of a pod that ends without a result how it ended, and keeps what it wrote", async () => {
  const said: unknown[] = [];
  const logger = { ...silentLogger, warn: (data: unknown) => said.push(data) } as never;
  const program = 'console.error("no, canary"); process.exitCode = 7';
  const { create } = await open({ program, logger });
  const executor = await create();
  const job = await testJob({
    variables: { a: "canary" },
    sensitive: { variables: ["a"], environment: [] },
  });
  expect(await executor.start(job, HOST).ended).toEqual({ how: "exit", code: 7 });
  expect(JSON.stringify(said)).toContain("no, ");
  expect(JSON.stringify(said)).not.toContain("canary");
  const { create: killed } = await open({ program: "process.kill(process.pid, 'SIGKILL')" });
  const { ended } = (await killed()).start(await testJob(), HOST);
  expect(await ended).toEqual({ how: "signal", signal: "SIGKILL" });
  // V8 ends so where its heap is full.
  const { create: full } = await open({ program: "process.exitCode = 134" });
  const end = { how: "lost", reason: "memory" };
  expect(await (await full()).start(await testJob(), HOST).ended).toEqual(end);
});

it("executes in the pod what the command does, and its words do not reach the log of the pod", async () => {
  const said: unknown[] = [];
  const logger = { ...silentLogger, warn: (data: unknown) => said.push(data) } as never;
  const { create, kubelet, cluster } = await open({ isReal: true, logger });
  let pod = "";
  const executor = await create();
  const execution = executor.start(await testJob(), HOST);
  await expect
    .poll(
      () => (pod ||= [...cluster.objects.keys()].find((key) => key.startsWith("pods/")) ?? ""),
      WAIT,
    )
    .not.toBe("");
  expect(await execution.ended).toEqual({ how: "exit", code: 1 });
  expect(JSON.stringify(said)).toContain("the job names no store");
  expect(kubelet?.logOf(pod.slice("pods/".length))).toBe("");
}, 120_000);

it("refuses a step whose image is not there, with what the cluster says", async () => {
  const { create } = await open();
  const { ended } = (await create({ image: "missing" })).start(await testJob(), HOST);
  expect(await ended).toEqual({
    how: "lost",
    reason: "refused",
    detail: expect.stringMatching(/^ErrImagePull: .*missing/),
  });
});

it("refuses a step that the cluster does not admit", async () => {
  const { create, cluster } = await open();
  const executor = await create();
  const message = 'admission webhook "policy" denied the request';
  cluster.fault = (method, path) =>
    method === "POST" && path.includes("/jobs") ? { status: 403, message } : undefined;
  const end = { how: "lost", reason: "refused", detail: message };
  expect(await executor.start(await testJob(), HOST).ended).toEqual(end);
  // What refuses the pod speaks to the controller of Jobs.
  cluster.fault = () => undefined;
  const { create: other, cluster: strict } = await open({ hasKubelet: false });
  const send = strict.send;
  const kubelet = await playKubelet({
    namespace: "runs",
    send: async (method, path, body) =>
      method === "POST" && path.endsWith("/pods")
        ? { status: 403, text: '{"message":"violates PodSecurity"}' }
        : send(method, path, body),
  });
  onTestFinished(() => kubelet[Symbol.asyncDispose]());
  expect(await (await other()).start(await testJob(), HOST).ended).toEqual({
    how: "lost",
    reason: "refused",
    detail: expect.stringContaining("violates PodSecurity"),
  });
});

it.each([
  [401, "Unauthorized"],
  [403, 'jobs.batch is forbidden: User "w" cannot create resource "jobs" in the namespace "runs"'],
])(
  "asks again where the cluster refuses the worker for a moment with %i, and says so where it lasts",
  async (status, message) => {
    const { create, cluster } = await open();
    const patient = await create({ timing: { ...TIMING, refusedMs: 60_000 } });
    let refusals = 0;
    const refuse = (what: string, most: number) => {
      refusals = 0;
      cluster.fault = (method, path) =>
        method !== "GET" && method !== "DELETE" && path.includes(what) && (refusals += 1) <= most
          ? { status, message }
          : undefined;
    };
    for (const what of ["/jobs", "/secrets"]) {
      refuse(what, 4);
      expect((await patient.start(await testJob(), HOST).ended).how).toBe("result");
      expect(refusals).toBeGreaterThan(4);
    }
    cluster.fault = () => undefined;
    const executor = await create();
    refuse("/jobs", Number.POSITIVE_INFINITY);
    const end = {
      how: "lost",
      reason: "refused",
      detail: `the cluster refuses the worker: ${message}`,
    };
    expect(await executor.start(await testJob(), HOST).ended).toEqual(end);
    expect(refusals).toBeGreaterThan(2);
  },
);

it("counts the time without any answer as no refusal", async () => {
  const { create, cluster } = await open();
  let passedMs = 0;
  const clock = { ...systemClock, monotonicMs: () => systemClock.monotonicMs() + passedMs };
  const executor = await create({ clock, timing: { ...TIMING, refusedMs: 60_000 } });
  const message = 'jobs.batch is forbidden: User "w" cannot create resource "jobs"';
  const answers = ["refused", "away", "refused", "refused"];
  cluster.fault = (method, path) => {
    if (method !== "POST" || !path.includes("/jobs")) return undefined;
    const next = answers.shift();
    if (next === undefined) return undefined;
    // Hours pass before the next one.
    if (next === "away") passedMs += 10_000_000;
    return next === "away" ? next : { status: 403, message };
  };
  expect((await executor.start(await testJob(), HOST).ended).how).toBe("result");
  expect(answers).toEqual([]);
});

it.each([
  [401, "Unauthorized"],
  [403, 'pods is forbidden: User "w" cannot list resource "pods" in the namespace "runs"'],
])(
  "warns once that it may not see its pods (%i), and says so where a step ends unseen",
  async (status, message) => {
    const said: string[] = [];
    const warn = (_fields: object, text: string) => void said.push(text);
    const logger = { ...silentLogger, warn } as Logger;
    const refuse = (cluster: { fault: unknown }) => {
      cluster.fault = (method: string) => (method === "GET" ? { status, message } : undefined);
    };
    const { create, cluster } = await open({ hasKubelet: false, startDeadlineMs: 500, logger });
    const executor = await create({ timing: { ...TIMING, removalMs: 100 } });
    const { ended } = executor.start(await testJob(), HOST);
    refuse(cluster);
    const why = `the cluster refuses the worker: ${message}`;
    expect(await ended).toEqual({ how: "lost", reason: "start_deadline", detail: why });
    expect(said.filter((text) => text === "the worker is not allowed to see its pod")).toHaveLength(
      1,
    );
  },
);

it("waits for a quota, and says so where it stays full", async () => {
  const { create, cluster } = await open();
  const executor = await create();
  const message = "exceeded quota: runs, requested: count/jobs.batch=1";
  let requests = 0;
  cluster.fault = (method, path) =>
    method === "POST" && path.includes("/jobs") && (requests += 1) < 3
      ? { status: 403, message }
      : undefined;
  expect((await executor.start(await testJob(), HOST).ended).how).toBe("result");
  requests = Number.NEGATIVE_INFINITY;
  const impatient = await create({ startDeadlineMs: 300 });
  expect(await impatient.start(await testJob(), HOST).ended).toEqual({
    how: "lost",
    reason: "start_deadline",
    detail: message,
  });
});

it("waits for a pod that begins late, and gives up at its deadline", async () => {
  const { create, play } = await open({ hasKubelet: false });
  const executor = await create();
  const late = executor.start(await testJob(), HOST);
  await new Promise((resolve) => setTimeout(resolve, 500));
  await play();
  expect((await late.ended).how).toBe("result");
  const { create: never, kinds } = await open({ hasKubelet: false, startDeadlineMs: 200 });
  const end = { how: "lost", reason: "start_deadline", detail: "no pod was made yet" };
  expect(await (await never()).start(await testJob(), HOST).ended).toEqual(end);
  expect(kinds()).not.toContain("jobs");
});

it("makes one Job where answers of the API server are lost", async () => {
  const { create, cluster } = await open();
  const executor = await create();
  const lost = new Set<string>();
  let jobs = 0;
  cluster.fault = (method, path) => {
    if (method === "POST" && path.includes("/jobs")) jobs += 1;
    const of = `${method} ${path.includes("/jobs") ? "job" : "other"}`;
    if (method === "GET" || lost.has(of)) return undefined;
    lost.add(of);
    return "lost";
  };
  expect((await executor.start(await testJob(), HOST).ended).how).toBe("result");
  expect(jobs).toBe(2);
  for (const of of ["DELETE job", "PATCH job", "POST job", "POST other"])
    expect(lost).toContain(of);
});

it("ends a pod at once that is canceled before it calls, and in two stages afterwards", async () => {
  const waiting = calling([{ type: "hello", protocol: CHILD_PROTOCOL, pid: 1 }], 0, true);
  const { create, kinds, kubelet } = await open({ program: waiting });
  const executor = await create();
  const early = executor.start(await testJob(), HOST);
  early.stop(1);
  expect(await early.ended).toEqual({ how: "signal", signal: "SIGKILL" });
  expect(kinds()).not.toContain("pods");
  const late = executor.start(await testJob(), HOST);
  await expect.poll(() => kubelet?.pids(), WAIT).toHaveLength(1);
  late.stop(2);
  expect(await late.ended).toEqual({ how: "signal", signal: "SIGKILL" });
  expect(kubelet?.pids()).toEqual([]);
});

it("says that something else removed the pod", async () => {
  const program = calling([{ type: "hello", protocol: CHILD_PROTOCOL, pid: 1 }], 0, true);
  const { create, cluster, kubelet } = await open({ program });
  const execution = (await create()).start(await testJob(), HOST);
  await expect.poll(() => kubelet?.pids(), WAIT).toHaveLength(1);
  const pod = [...cluster.objects.keys()].find((key) => key.startsWith("pods/"));
  await cluster.send("DELETE", `/api/v1/namespaces/runs/${pod}`);
  expect(await execution.ended).toMatchObject({ how: "lost", reason: "removed" });
});

it("keeps a pod while the API server is away", async () => {
  const program = calling(SAID.slice(0, 1), 0, true).replace(
    "if (!true) socket.end();",
    `setTimeout(() => { const content = Buffer.from(${JSON.stringify(JSON.stringify(SAID[1]))});
      const head = Buffer.alloc(4); head.writeUInt32BE(content.length);
      socket.end(Buffer.concat([head, content])); }, 1500);`,
  );
  const { create, cluster, kubelet } = await open({ program });
  const execution = (await create()).start(await testJob(), HOST);
  await expect.poll(() => kubelet?.pids(), WAIT).toHaveLength(1);
  await new Promise((resolve) => setTimeout(resolve, 300));
  const until = performance.now() + 2_500;
  cluster.fault = () => (performance.now() < until ? "away" : undefined);
  expect(await execution.ended).toEqual({ how: "result", result: RESULT });
});

it("finds the executions of its instance, and no others", async () => {
  const { create, kinds } = await open({ hasKubelet: false });
  const executor = await create();
  const ours = executor.start(await testJob(), HOST);
  await expect.poll(async () => executor.list?.(), WAIT).toHaveLength(1);
  expect(await (await create({ instance: "theirs" })).list?.()).toEqual([]);
  const next = await create();
  const [found] = (await next.list?.()) ?? [];
  expect(found?.name).toBe("sw-1-1");
  if (found !== undefined) await next.remove?.(found);
  expect(await next.list?.()).toEqual([]);
  expect(kinds()).not.toContain("jobs");
  expect((await ours.ended).how).toBe("lost");
});

it("shows no value of a run to the cluster, and that of a proxy in the Secret alone", async () => {
  const { create, cluster } = await open({
    hasKubelet: false,
    env: { HTTPS_PROXY: "http://user:canary@proxy:1", SECRET: "canary" },
  });
  const executor = await create();
  const job = await testJob({
    variables: { word: "canary" },
    keys: [{ number: 1, bytes: "canary" }],
    store: { address: { socketPath: "/tmp/sw-1/s" }, token: "canary" },
  });
  const execution = executor.start(job, HOST);
  const find = (kind: string) =>
    [...cluster.objects].find(([key]) => key.startsWith(`${kind}/`))?.[1];
  await expect.poll(() => find("secrets"), WAIT).toBeDefined();
  const made = find("jobs");
  expect(JSON.stringify(made)).not.toContain("canary");
  const secret = find("secrets") as unknown as { data: Record<string, string>; metadata: object };
  expect(Object.keys(secret.data).toSorted()).toEqual(["HTTPS_PROXY", "key"]);
  expect(secret.metadata).toMatchObject({
    ownerReferences: [{ kind: "Job", uid: made?.metadata.uid }],
  });
  expect(Buffer.from(secret.data["HTTPS_PROXY"] ?? "", "base64").toString()).toContain("canary");
  await execution[Symbol.asyncDispose]();
});

it("does not start where the cluster refuses Jobs, and starts where it does not answer", async () => {
  const { create, cluster } = await open({ hasKubelet: false });
  await expect(create({ namespace: "absent" })).rejects.toMatchObject({
    code: "ENGINE_CONFIG_INVALID",
    message: expect.stringContaining('namespaces "absent" not found'),
  });
  await expect(create({ context: "absent" })).rejects.toMatchObject({
    code: "ENGINE_CONFIG_INVALID",
    message: expect.stringContaining('no context "absent"'),
  });
  cluster.fault = () => "away";
  await expect(create()).resolves.toMatchObject({ kind: "kubernetes" });
});

it("lets none in without the key of an execution", async () => {
  await using door = await ExecutionDoor.open({ host: "127.0.0.1", port: 0 });
  const [key, other] = [Buffer.alloc(32, 1), Buffer.alloc(32, 2)];
  const seen: string[] = [];
  const call = async (psk: Buffer, identity: string) =>
    new Promise<string>((resolve) => {
      const socket = connect({
        host: "127.0.0.1",
        port: door.port,
        ...DOOR_TLS,
        pskCallback: () => ({ psk, identity }),
        checkServerIdentity: () => undefined,
      });
      socket.once("error", () => resolve("refused"));
      socket.once("close", () => resolve("closed"));
      socket.once("secureConnect", () => socket.end());
      socket.resume();
    });
  {
    using _expected = door.expect("sw-1", {
      key,
      onConnection: (channel, socket) => {
        seen.push(channel);
        socket.resume();
      },
    });
    expect(await call(key, "sw-1/control")).toBe("closed");
    expect(await call(other, "sw-1/control")).toBe("refused");
    expect(await call(key, "sw-2/control")).toBe("refused");
    expect(await call(key, "sw-1/other")).toBe("refused");
  }
  expect(await call(key, "sw-1/control")).toBe("refused");
  expect(seen).toEqual(["control"]);
});

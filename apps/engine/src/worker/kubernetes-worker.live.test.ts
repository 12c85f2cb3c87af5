import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { mkdtempDisposable, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { promisify } from "node:util";
import { gzipSync } from "node:zlib";
import { systemClock } from "@stackwright/base/clock";
import { silentLogger } from "@stackwright/base/logger";
import { createServerClient } from "@stackwright/client";
import { parseClusterFile } from "@stackwright/tfstate/cluster";
import { afterAll, describe, expect, it, onTestFinished } from "vitest";
import type { ExecutionHost } from "../executor/executor.ts";
import { createKubernetesExecutor } from "../executor/kubernetes/kubernetes-executor.ts";
import { playKubelet } from "../testing/played-kubelet.ts";
import { startCluster } from "../testing/start-cluster.ts";
import { startServerProcess } from "../testing/start-server-process.ts";
import { startWorkerProcess } from "../testing/start-worker-process.ts";
import { tarOf } from "../testing/tar-of.ts";
import { testJob } from "../testing/test-job.ts";
import { describeWorker } from "../testing/worker-suite.ts";

// With a real API server; the test plays the machine that executes pods.

interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string };
  readonly spec?: { readonly template?: object };
}

const PLURALS: Readonly<Record<string, string>> = {
  NetworkPolicy: "networkpolicies",
  Deployment: "deployments",
};

/** Where objects of a kind are. */
function pathOf({ apiVersion, kind, metadata: { namespace } }: Manifest): string {
  const group = apiVersion === "v1" ? "/api/v1" : `/apis/${apiVersion}`;
  const within = namespace === undefined ? "" : `/namespaces/${namespace}`;
  return `${group}${within}/${PLURALS[kind] ?? `${kind.toLowerCase()}s`}`;
}

const FOLDER = join(import.meta.dirname, "../../../../examples/kubernetes");

function manifestsOf(file: string): readonly Manifest[] {
  const documents = readFileSync(join(FOLDER, file), "utf8").split(/^---$/m);
  return documents.map((text) => parseClusterFile(text) as unknown as Manifest);
}

const HOST: ExecutionHost = {
  onEvent: () => undefined,
  beginPlanning: async () => Promise.resolve(),
  beginApply: async () => Promise.resolve(),
  readOtherStack: async () => Promise.resolve(undefined),
  identityTokens: async () => Promise.resolve([]),
  readRegistry: async () => ({ versions: [], withdrawn: [] }),
  recordState: async () => Promise.resolve(),
  handInSchema: async () => Promise.resolve("refused" as const),
};

const RUNS = "stackwright-runs";
const resources = new AsyncDisposableStack();
afterAll(() => resources.disposeAsync());

const cluster = await startCluster(process.env);
if (typeof cluster === "string") {
  it("a worker with the executor kubernetes", (ctx) => ctx.skip(cluster));
} else {
  resources.use(cluster);
  const { send, configOf } = cluster;
  const apply = async (manifest: Manifest, query = "") => {
    const path = `${pathOf(manifest)}?fieldValidation=Strict${query}`;
    const { status, text } = await send("POST", path, manifest);
    return status < 300 ? "" : `${manifest.kind} ${manifest.metadata.name}: ${text}`;
  };
  const files = ["stackwright.yaml", "runs-in-pods.yaml"];
  const manifests = files.flatMap(manifestsOf);
  // What all else needs is made; the others are only checked.
  const MADE = new Set(["Namespace", "ServiceAccount", "Role", "RoleBinding"]);
  const problems: string[] = [];
  for (const one of manifests.filter(({ kind }) => MADE.has(kind))) problems.push(await apply(one));
  for (const one of manifests.filter(({ kind }) => !MADE.has(kind))) {
    problems.push(await apply(one, "&dryRun=All"));
  }

  describe("the manifests", () => {
    it("are what the API server takes", () => {
      expect(manifests.length).toBeGreaterThan(20);
      expect(problems.filter((problem) => problem !== "")).toEqual([]);
    });

    it("have pods that a restricted namespace admits", async () => {
      const deployments = manifests.filter(({ kind }) => kind === "Deployment");
      expect(deployments).toHaveLength(3);
      for (const { metadata, spec } of deployments) {
        const pod = { apiVersion: "v1", kind: "Pod", ...spec?.template };
        const named = { ...pod, metadata: { ...metadata, name: "a" } };
        expect(await apply(named as Manifest, "&dryRun=All")).toBe("");
      }
      // That this says something: one that wants more is refused.
      const greedy = {
        apiVersion: "v1",
        kind: "Pod",
        metadata: { name: "a", namespace: RUNS },
        spec: { hostNetwork: true, containers: [{ name: "a", image: "a" }] },
      };
      expect(await apply(greedy as Manifest, "&dryRun=All")).toContain("violates PodSecurity");
    });
  });

  // The executor has the rights of the manifests and no others.
  const account = `/api/v1/namespaces/stackwright/serviceaccounts/stackwright-pod-worker/token`;
  const asked = await send("POST", account, { spec: { expirationSeconds: 3_600 } });
  const { status } = JSON.parse(asked.text) as { readonly status: { readonly token: string } };
  const folder = resources.use(await mkdtempDisposable(join(tmpdir(), "kubernetes-")));
  const config = join(folder.path, "config");
  await writeFile(config, await configOf(status.token));
  const kubelet = resources.use(await playKubelet({ send, namespace: RUNS }));
  const create = async (change: object = {}) =>
    createKubernetesExecutor({
      image: "stackwright-server",
      namespace: RUNS,
      address: "127.0.0.1",
      host: "127.0.0.1",
      port: 0,
      instance: "test",
      config,
      directory: folder.path,
      podDirectory: join((await mkdtempDisposable(join(folder.path, "pod-"))).path, "w"),
      logger: silentLogger,
      clock: systemClock,
      env: {},
      timing: { refusedMs: 2_000, startingLookMs: 100, graceSeconds: 2, againMs: 200 },
      ...change,
    });

  // Paths of a worker are none of a pod: the template names those of the pod, which are the same here.
  describeWorker(
    "kubernetes",
    async ({ env }) => {
      const name = "STACKWRIGHT_PULUMI_PLUGINS";
      const value = env[name];
      if (value === undefined) return create();
      const containers = [{ name: "step", env: [{ name, value }] }];
      return create({ template: { spec: { containers } } });
    },
    true,
  );

  describe("a pod of an execution", () => {
    it("is ended and gone when the execution is disposed", { timeout: 60_000 }, async () => {
      await using executor = await create();
      const job = await testJob();
      const address = { host: "192.0.2.1", port: 1 };
      const host = { ...HOST, beginPlanning: async () => new Promise<void>(() => undefined) };
      // Pods of the tests before may still be ending.
      await expect.poll(() => kubelet.pids(), { timeout: 30_000 }).toEqual([]);
      const execution = executor.start({ ...job, store: { address, token: "t" } }, host);
      await expect.poll(() => kubelet.pids(), { timeout: 30_000 }).toHaveLength(1);
      expect(await executor.list?.()).toHaveLength(1);
      await execution[Symbol.asyncDispose]();
      expect(kubelet.pids()).toEqual([]);
      expect(await executor.list?.()).toEqual([]);
    });

    it("whose worker died is an orphan that another one ends", { timeout: 60_000 }, async () => {
      const worker = await create({ startDeadlineMs: 60_000 });
      const lost = worker.start(await testJob(), {
        ...HOST,
        beginPlanning: async () => new Promise<void>(() => undefined),
      });
      await using next = await create();
      await expect.poll(async () => next.list?.(), { timeout: 30_000 }).toHaveLength(1);
      for (const one of (await next.list?.()) ?? []) await next.remove?.(one);
      expect(await next.list?.()).toEqual([]);
      await lost.ended;
      await worker[Symbol.asyncDispose]();
    });

    it("that its template makes impossible is refused before a run is claimed", async () => {
      const template = { spec: { priorityClassName: "absent", misspelt: 1 } };
      await expect(create({ template })).rejects.toMatchObject({
        code: "ENGINE_CONFIG_INVALID",
        message: expect.stringContaining("misspelt"),
      });
    });

    it("that the namespace does not admit is refused with the reason", {
      timeout: 60_000,
    }, async () => {
      const template = { spec: { hostNetwork: true } };
      await using executor = await create({ template });
      expect(await executor.start(await testJob(), HOST).ended).toEqual({
        how: "lost",
        reason: "refused",
        detail: expect.stringContaining("violates PodSecurity"),
      });
    });
  });
  describe("as a process", () => {
    const MAIN = join(import.meta.dirname, "../main.ts");
    const project = "default";
    const jobs = async (): Promise<readonly string[]> => {
      const { text } = await send("GET", `/apis/batch/v1/namespaces/${RUNS}/jobs`);
      const { items } = JSON.parse(text) as { readonly items: readonly Manifest[] };
      return items.map(({ metadata }) => metadata.name);
    };
    const inPods = [
      "--executor=kubernetes",
      "--kubernetes-image=stackwright-server",
      `--kubernetes-namespace=${RUNS}`,
      `--kubernetes-config=${config}`,
      "--kubernetes-address=127.0.0.1",
      "--kubernetes-port=0",
    ];
    /** Executes a run by a server: how it ended, and how many Jobs it had. */
    const runBy = async (
      server: string,
      token: string,
      stack: string,
      how: { readonly mode: "apply" | "plan_only" },
    ) => {
      const client = createServerClient({ server, token });
      await client.createStack({ project, body: { name: stack } });
      const main = 'resource "terraform_data" "a" { input = "x" }';
      const body = Uint8Array.from(gzipSync(tarOf({ "main.tf": main })));
      const { digest } = (await client.createConfiguration({ project, stack, body })).data;
      const requested = { configuration: digest, auto_apply: true, ...how };
      const run = (await client.createRun({ project, stack, body: requested })).data.id;
      const made = new Set<string>();
      const look = async () => {
        for (const name of await jobs()) made.add(name);
        return (await client.showRun({ project, stack, run })).data.phase;
      };
      await expect
        .poll(look, { timeout: 120_000, interval: 50 })
        .toMatch(/^(?:applied|plan_finished|failed|canceled)$/);
      const ofRun = [...made].filter((name) => name.startsWith(`sw-${run.toLowerCase()}-`));
      return [await look(), ofRun.length];
    };

    it("a server executes steps in pods, and so does a worker of one that executes none", {
      timeout: 300_000,
    }, async (context) => {
      context.skip(process.getuid?.() !== 0, "pods of the default folder need root here");
      const scratch = await mkdtempDisposable(join(tmpdir(), "kubernetes-process-"));
      onTestFinished(() => scratch.remove());
      const store = ["--store", `sqlite:${join(scratch.path, "store")}`];
      const bootstrap = [MAIN, "bootstrap", "--again", ...store, "--account", "acme"];
      const { stdout } = await promisify(execFile)(process.execPath, bootstrap);
      const { token } = JSON.parse(stdout) as { readonly token: string };
      const at = { cwd: scratch.path };
      const server = await startServerProcess(MAIN, [...store, ...inPods], at);
      const applied = await runBy(server.url, token, "one", { mode: "apply" });
      expect(applied).toEqual(["applied", 2]);
      server.child.kill("SIGTERM");
      expect(await server.ended).toBe(0);

      const idle = [...store, "--executor", "none", "--storage-port", "0"];
      const other = await startServerProcess(MAIN, idle, at);
      const folder = join(scratch.path, "runs");
      const args = ["--server", other.url, "--directory", folder, ...inPods];
      const env = { STACKWRIGHT_TOKEN: token };
      const worker = await startWorkerProcess(MAIN, args, { ...at, env });
      const planned = await runBy(other.url, token, "two", { mode: "plan_only" });
      expect(planned).toEqual(["plan_finished", 1]);
      worker.child.kill("SIGTERM");
      expect(await worker.ended).toBe(0);
      expect(await jobs()).toEqual([]);
    });
  });
}

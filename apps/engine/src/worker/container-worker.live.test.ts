import { openEngine } from "@stackwright-tools/containers";
import { afterAll, describe, expect, it } from "vitest";
import { createContainerExecutor } from "../executor/container-executor.ts";
import { buildTestImage } from "../testing/container-image.ts";
import { testJob } from "../testing/test-job.ts";
import { describeWorker } from "../testing/worker-suite.ts";

// With a real engine: that of the machine, or one that is started for these tests.

const resources = new AsyncDisposableStack();
afterAll(() => resources.disposeAsync());

const engine = await openEngine(() => undefined);
if (typeof engine === "string") {
  it("a worker with the executor container", (ctx) => ctx.skip(engine));
} else {
  resources.use(engine);
  const { env } = engine.docker;
  const { image, volumes } = resources.use(await buildTestImage("docker", env));
  const instance = `test-${process.pid}`;
  const create = (more: object = {}) =>
    createContainerExecutor({ image, volumes, env, instance, network: "none", ...more });

  // The worker's environment, and the engine's.
  describeWorker("container", (parts) => create({ env: { ...parts.env, ...env } }), true);

  describe("a container of an execution", () => {
    it("is ended and gone when the execution is disposed", {
      timeout: 60_000,
    }, async () => {
      await using executor = create();
      const job = await testJob();
      // It waits for its store, which never answers.
      const address = { host: "192.0.2.1", port: 1 };
      const host = {
        onEvent: () => undefined,
        beginPlanning: async () => new Promise<void>(() => undefined),
        beginApply: async () => Promise.resolve(),
        readOtherStack: async () => Promise.resolve(undefined),
        identityTokens: async () => Promise.resolve([]),
        readRegistry: async () => ({ versions: [], withdrawn: [] }),
        recordState: async () => Promise.resolve(),
        handInSchema: async () => Promise.resolve("refused" as const),
      };
      const execution = executor.start({ ...job, store: { address, token: "t" } }, host);
      const names = async () => ((await executor.list?.()) ?? []).map(({ name }) => name);
      await expect.poll(names, { timeout: 30_000 }).toEqual([job.name]);
      await execution[Symbol.asyncDispose]();
      expect(await names()).toEqual([]);
    });

    it("that has more memory than it may is lost", { timeout: 60_000 }, async () => {
      // No process of Node.js has so little.
      await using executor = create({ maxMemoryBytes: 24 * 1024 * 1024 });
      const host = {
        onEvent: () => undefined,
        beginPlanning: async () => Promise.resolve(),
        beginApply: async () => Promise.resolve(),
        readOtherStack: async () => Promise.resolve(undefined),
        identityTokens: async () => Promise.resolve([]),
        readRegistry: async () => ({ versions: [], withdrawn: [] }),
        recordState: async () => Promise.resolve(),
        handInSchema: async () => Promise.resolve("refused" as const),
      };
      const { ended } = executor.start(await testJob(), host);
      expect(await ended).toEqual({ how: "lost", reason: "memory" });
    });

    it("whose worker was killed is an orphan that another worker ends", {
      timeout: 60_000,
    }, async () => {
      const name = "sw-orphan-1.0123456789ab";
      const label = `dev.stackwright.instance=${instance}`;
      const waiting = ["-e", "setInterval(() => undefined, 1000)"];
      await engine.docker.run(
        ["run", "--detach", "--name", name, "--label", label, "--network", "none"].concat(
          ["--entrypoint", "/bin/node", image],
          waiting,
        ),
      );
      await using executor = create();
      const found = (await executor.list?.()) ?? [];
      expect(found.map((one) => one.name)).toEqual(["sw-orphan-1"]);
      for (const one of found) await executor.remove?.(one);
      expect(await executor.list?.()).toEqual([]);
      // Those of another store are none of ours.
      await using other = create({ instance: "other" });
      expect(await other.list?.()).toEqual([]);
    });
  });
}

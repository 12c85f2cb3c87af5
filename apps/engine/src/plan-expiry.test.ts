import { randomBytes } from "node:crypto";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { systemClock } from "@stackwright/base/clock";
import { createRuns, createStackStates, createStoredKeys, type OpenStore } from "@stackwright/core";
import { createUlidGenerator } from "@stackwright/storage";
import { describe, expect, it, onTestFinished } from "vitest";
import { serve } from "./serve.ts";
import { parseServeArguments } from "./serve-arguments.ts";

describe("the server's retention of plans", () => {
  it("removes old plans and then their blobs, never the newest and those of runs that have not ended", async () => {
    const directory = await mkdtemp(join(tmpdir(), "plans-"));
    onTestFinished(() => rm(directory, { recursive: true, force: true }));
    const stores: OpenStore[] = [];
    const words = "--store sqlite:store --port 0 --log-level silent --plans-per-stack 1";
    const server = await serve(await parseServeArguments(words.split(" "), {}, directory), {
      directory,
      env: {},
      collectMs: 100,
      blobHoldMs: 200,
      plugins: ({ store }) => {
        stores.push(store);
        return [];
      },
    });
    onTestFinished(() => server.close());
    const [store] = stores;
    if (store === undefined) throw new Error("the server has no store");
    const { storage, blobs } = store;
    const ciphers = createStoredKeys({ storage, current: { id: "test", bytes: randomBytes(32) } });
    const states = createStackStates({ storage, blobs, ciphers, owner: "test" });
    const reference = { account: "acme", project: "web", stack: "01JSTACK" };
    const state = states.stack(reference);
    const token = createUlidGenerator({ wallMs: () => systemClock.wallMs() });
    const runs = createRuns(reference, { storage, scheduler: systemClock, token });
    const save = async (): Promise<string> => {
      // Larger than what a resource holds by itself.
      const { digest } = await state.storePlan({ baseRevision: 0n, bytes: randomBytes(100_000) });
      await new Promise((resolve) => setTimeout(resolve, 5));
      return digest;
    };
    const blobCount = async (): Promise<number> => {
      const root = join(directory, "store", "blobs", "blobs");
      const groups = await readdir(root);
      const found = await Promise.all(groups.map((group) => readdir(join(root, group))));
      return found.flat().length;
    };
    const has = async (digest: string) => (await state.plan(digest)) !== undefined;

    const needed = await save();
    const run = { id: "run", cause: "user:ann", phase: "approved" } as const;
    await runs.create({ ...run, planDigest: needed, baseRevision: 0n });
    const old = await save();
    const newest = await save();
    await expect.poll(() => has(old), { timeout: 10_000 }).toBe(false);
    await expect.poll(blobCount, { timeout: 10_000 }).toBe(2);
    expect(await Promise.all([needed, newest].map(has))).toEqual([true, true]);

    await runs.transition("run", "approved", "discarded");
    await expect.poll(blobCount, { timeout: 10_000 }).toBe(1);
    expect(await Promise.all([needed, newest].map(has))).toEqual([false, true]);
  });
});

import { randomBytes } from "node:crypto";
import { createStoredKeys } from "@stackwright/core";
import { PolicySet, PolicyVersion, Run } from "@stackwright/proto/stackwright";
import { createMemoryStorage } from "@stackwright/storage/memory";
import { expect, it } from "vitest";
import { RUN_KIND, runPlace } from "../domain/run-places.ts";
import { createRunFixture } from "../testing/run-fixture.ts";
import { PolicyRunner } from "./policy-runner.ts";
import { replayPolicy } from "./replay-policy.ts";

const MAX_MS = 60_000;

/** Runs of a stack with plans that are stored no more, the first the oldest, and what a replay of a set says of them. */
async function start(count: number) {
  const storage = createMemoryStorage();
  const { parts, clock, put, stack } = createRunFixture(storage);
  const reference = await stack("one");
  const ids = Array.from({ length: count }, (_, at) => `run-${at}`);
  for (const [at, id] of ids.entries()) {
    const facts = { number: BigInt(at + 1), createdAtMs: BigInt(at), planDigest: "d".repeat(64) };
    const run = Run.create({ id, stack: reference.stack, ...facts });
    await put(RUN_KIND, runPlace({ stack: reference, run: id }), run);
  }
  const policies = new PolicyRunner({ clock });
  const keys = createStoredKeys({ storage, current: { id: "k", bytes: randomBytes(32) } });
  let looked = 0;
  const replay = async (options: object = {}, passMs = 0) => {
    looked = 0;
    const judging = { ...parts, keys, policies, blobs: {} as never };
    const { runs, isComplete } = await replayPolicy(judging, {
      account: "acme",
      set: PolicySet.create({ name: "security" }),
      version: PolicyVersion.create(),
      limit: 10,
      sees: () => true,
      secretsOf: async () => {
        looked += 1;
        clock.skip(passMs);
        return [];
      },
      signal: new AbortController().signal,
      maxMs: MAX_MS,
      ...options,
    });
    return { judged: runs.length, looked, isComplete };
  };
  return { replay, clock };
}

it("a replay that looked through all runs is complete, with however few plans", async () => {
  const { replay } = await start(3);
  expect(await replay()).toEqual({ judged: 0, looked: 3, isComplete: true });
  expect(await replay({ maxFound: 3 })).toEqual({ judged: 0, looked: 3, isComplete: true });
  expect(await replay({ sees: () => false })).toEqual({ judged: 0, looked: 0, isComplete: true });
});

it("a replay ends at its deadline, and says that it is not complete", async () => {
  const { replay } = await start(3);
  expect(await replay({}, MAX_MS / 2)).toEqual({ judged: 0, looked: 2, isComplete: false });
  expect(await replay({}, MAX_MS)).toEqual({ judged: 0, looked: 1, isComplete: false });
  expect(await replay({ maxMs: 0 })).toEqual({ judged: 0, looked: 0, isComplete: false });
});

it("a replay that did not look at older runs is not complete, unless it judged as many as it was asked for", async () => {
  const { replay } = await start(5);
  expect(await replay({ maxFound: 2 })).toEqual({ judged: 0, looked: 2, isComplete: false });
  expect(await replay({ maxFound: 4 })).toEqual({ judged: 0, looked: 4, isComplete: false });
  expect(await replay({ maxFound: 2, limit: 0 })).toMatchObject({ isComplete: true });
});

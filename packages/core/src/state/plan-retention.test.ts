import { systemClock } from "@stackwright/base/clock";
import { createUlidGenerator, type ResourceType, WILDCARD } from "@stackwright/storage";
import { createMemoryStorage } from "@stackwright/storage/memory";
import { describe, expect, it } from "vitest";
import { MemoryBlobs } from "../testing/memory-blobs.ts";
import { STATE_KINDS } from "./kinds.ts";
import { expirePlans, expireStackPlans } from "./plan-retention.ts";
import { createRuns } from "./runs.ts";
import { createStoredKeys } from "./stack-keys.ts";
import { createStackStates } from "./stack-states.ts";

const DAY = 24 * 60 * 60 * 1000;
const START = Date.UTC(2026, 0, 1);
const retention = { maxAgeMs: 10 * DAY, perStack: 3 };

function world() {
  const storage = createMemoryStorage();
  const time = { nowMs: START };
  const scheduler = { ...systemClock, wallMs: () => time.nowMs };
  const token = createUlidGenerator({ wallMs: () => time.nowMs });
  const states = createStackStates({
    storage,
    blobs: new MemoryBlobs(),
    ciphers: createStoredKeys({ storage, current: { id: "test", bytes: new Uint8Array(32) } }),
    scheduler,
    owner: "test",
  });
  const stackAt = (account: string, stack: string) => {
    const reference = { account, project: "p", stack };
    const state = states.stack(reference);
    return {
      reference,
      state,
      runs: createRuns(reference, { storage, scheduler, token }),
      save: async (text: string, day: number) => {
        time.nowMs = START + day * DAY;
        const plan = await state.storePlan({ baseRevision: 0n, bytes: Buffer.from(text) });
        return plan.digest;
      },
      has: async (digest: string) => (await state.plan(digest)) !== undefined,
    };
  };
  return { storage, stackAt };
}

describe.each(["of all stacks", "of one stack"])("the retention of plans %s", (which) => {
  const setUp = () => {
    const { storage, stackAt } = world();
    const [one, other] = [stackAt("acme", "01A"), stackAt("acme", "01B")];
    const damage = async (kind: ResourceType) => {
      const tenancy = { partition: WILDCARD, peerName: WILDCARD, namespace: WILDCARD };
      const [first] = await storage.list("strong", kind, tenancy, one.reference.stack);
      if (first === undefined) throw new Error(`there is no ${kind.kind}`);
      await storage.writeCAS({ ...first, data: { typeUrl: "damaged", value: new Uint8Array() } });
    };
    const expire = async (day: number) => {
      const options = { storage, nowMs: START + day * DAY, retention };
      return which === "of all stacks"
        ? expirePlans(options)
        : expireStackPlans(one.reference, options);
    };
    return { one, other, expire, damage };
  };

  it("removes plans above the age, not those at it", async () => {
    const { one, expire } = setUp();
    const digest = await one.save("plan", 1);
    expect(await expire(11)).toBe(0);
    expect(await one.has(digest)).toBe(true);
    expect(await expire(11.001)).toBe(1);
    expect(await one.has(digest)).toBe(false);
    expect(await expire(12)).toBe(0);
  });

  it("a damaged plan keeps no other", async () => {
    const { one, expire, damage } = setUp();
    await one.save("damaged", 1);
    await damage(STATE_KINDS.plan);
    await one.save("plan", 1);
    expect(await expire(12)).toBe(1);
  });

  it("keeps all plans of a stack of which a run is damaged, and no others", async () => {
    const { one, other, expire, damage } = setUp();
    const planDigest = await one.save("plan", 1);
    await other.save("plan", 1);
    await one.runs.create({
      id: "run",
      cause: "user:ann",
      phase: "approved",
      planDigest,
      baseRevision: 0n,
    });
    await damage(STATE_KINDS.run);
    expect(await expire(12)).toBe(which === "of all stacks" ? 1 : 0);
    expect(await one.has(planDigest)).toBe(true);
  });

  it("keeps the newest plans of each stack, not of all together", async () => {
    const { one, other, expire } = setUp();
    const digests: string[] = [];
    for (let day = 1; day <= 3; day += 1) digests.push(await one.save(`plan ${day}`, day));
    const kept = await other.save("of the other stack", 0);
    expect(await expire(4)).toBe(0);
    digests.push(await one.save("plan 4", 4));
    expect(await expire(4)).toBe(1);
    expect(await Promise.all(digests.map(one.has))).toEqual([false, true, true, true]);
    expect(await other.has(kept)).toBe(true);
  });

  it("keeps the plan of a run that has not ended, and removes it after the end", async () => {
    const { one, expire } = setUp();
    const planDigest = await one.save("approved", 1);
    await one.runs.create({
      id: "run",
      cause: "user:ann",
      phase: "approved",
      planDigest,
      baseRevision: 0n,
    });
    for (let day = 2; day <= 5; day += 1) await one.save(`later ${day}`, day);
    expect(await expire(5)).toBe(1);
    expect(await expire(400)).toBe(3);
    expect(await one.has(planDigest)).toBe(true);
    await one.runs.transition("run", "approved", "discarded");
    expect(await expire(400)).toBe(1);
    expect(await one.has(planDigest)).toBe(false);
  });
});

import { setTimeout as delay } from "node:timers/promises";
import { StackDirectory } from "@stackwright/core";
import { createTestState, createVirtualScheduler, TEST_STACK } from "@stackwright/core/testing";
import { createMemoryStorage } from "@stackwright/storage/memory";
import { describe, expect, it } from "vitest";
import type { Terminal } from "../terminal/terminal.ts";
import type { LockTarget } from "./stack-lock.ts";
import { acquireStackLock } from "./stack-lock.ts";

const TIMING = { ttlMs: 1_200, renewMs: 100, stopMs: 600 };

/** A worker that works on the stack, one that wants to, and what the latter is told. */
async function setUp(holder: "lives" | "was killed") {
  const storage = createMemoryStorage();
  const stacks = new StackDirectory({ storage, nextId: () => TEST_STACK.stack });
  await stacks.ensure(TEST_STACK, "shop");
  const first = createTestState({
    storage,
    owner: "first",
    timing: TIMING,
    // Time stands still for whoever was killed: no heartbeat is written any more.
    ...(holder === "was killed" && { scheduler: createVirtualScheduler() }),
  });
  const second = createTestState({ storage, owner: "second", timing: TIMING });
  let told = "";
  const session = {
    state: second.state,
    stack: { name: "shop", reference: TEST_STACK },
    store: { storage },
  } as unknown as LockTarget;
  const terminal = { writeError: (text: string) => void (told += text) } as Terminal;
  const context = { terminal, signal: new AbortController().signal };
  return {
    first: first.state,
    deleteStack: async () => stacks.remove(TEST_STACK, "shop"),
    take: (lockTimeout = "0s") => acquireStackLock(session, { lockTimeout }, context),
    told: () => told,
  };
}

describe("taking a stack", () => {
  it("does not wait where the lock is free", async () => {
    const { take, told } = await setUp("lives");
    await (await take()).release();
    expect(told()).toBe("");
  });

  it("is refused while its holder lives, and says who that is", async () => {
    const { first, take } = await setUp("lives");
    await using _held = await first.acquire();
    await expect(take()).rejects.toThrow('The stack "shop" is in use by first.');
  });

  it("waits for a live holder for the given time", async () => {
    const { first, take, told } = await setUp("lives");
    const held = await first.acquire();
    const taken = take("60s");
    await delay(2 * TIMING.ttlMs);
    await held.release();
    await (await taken).release();
    expect(told()).toContain("first works on it");
  });

  it("takes it from a holder that was killed, whatever the timeout", async () => {
    const { first, take } = await setUp("was killed");
    await first.acquire();
    const hold = await take();
    expect(hold.epoch).toBe(2n);
    await hold.release();
  });

  it("is refused where the stack was deleted while the command waited", async () => {
    const { first, take, deleteStack } = await setUp("lives");
    const held = await first.acquire();
    const taken = take("60s");
    await deleteStack();
    await held.release();
    await expect(taken).rejects.toThrow('The stack "shop" was deleted meanwhile.');
    await using again = await first.acquire();
    expect(again.epoch).toBe(3n);
  });
});

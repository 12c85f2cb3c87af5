import { randomUUID } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import {
  FREEZE_KIND,
  HUMAN_LOCK_KIND,
  KEPT_STATE_KIND,
  STACK_TOOL_KIND,
  StackDirectory,
  stackTenancy,
} from "@stackwright/core";
import { createTestState, createVirtualScheduler, TEST_STACK } from "@stackwright/core/testing";
import {
  Freeze,
  StackLock as HumanLockMessage,
  KeptState,
  StackTool,
} from "@stackwright/proto/stackwright";
import { readStored, StorageError } from "@stackwright/storage";
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
  const stack = await stacks.ensure(TEST_STACK, "shop");
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
    deleteStack: async () => stacks.remove(stack),
    take: (lockTimeout = "0s", passes: { readonly passesLock?: boolean } = {}) =>
      acquireStackLock(session, { lockTimeout }, context, passes),
    lock: async (given: Partial<HumanLockMessage>) => {
      const tenancy = stackTenancy(TEST_STACK);
      const id = { uid: "", name: TEST_STACK.stack, type: HUMAN_LOCK_KIND, tenancy };
      const found = await readStored(storage, "strong", id);
      const value = HumanLockMessage.encode(HumanLockMessage.create(given)).finish();
      await storage.writeCAS({
        id: { ...id, uid: found?.id.uid ?? "lock" },
        version: found?.version ?? "",
        generation: randomUUID(),
        metadata: {},
        status: {},
        data: { typeUrl: "type.googleapis.com/stackwright.v1.StackLock", value },
      });
    },
    /** As a server does to a token that is limited to other names. */
    hide: (name: string) => {
      const read = storage.read.bind(storage);
      storage.read = async (consistency, id, options) => {
        if (id.name !== name) return read(consistency, id, options);
        throw new StorageError("STORAGE_PERMISSION_DENIED", "not for this token");
      };
    },
    freeze: async (name: string, given: Partial<Freeze>) =>
      storage.writeCAS({
        id: { uid: name, name, type: FREEZE_KIND, tenancy: stackTenancy(TEST_STACK) },
        version: "",
        generation: randomUUID(),
        metadata: {},
        status: {},
        data: {
          typeUrl: "type.googleapis.com/stackwright.v1.Freeze",
          value: Freeze.encode(Freeze.create(given)).finish(),
        },
      }),
    keepState: async (current: bigint) =>
      storage.writeCAS({
        id: {
          uid: "kept",
          name: TEST_STACK.stack,
          type: KEPT_STATE_KIND,
          tenancy: stackTenancy(TEST_STACK),
        },
        version: "",
        generation: randomUUID(),
        metadata: {},
        status: {},
        data: {
          typeUrl: "type.googleapis.com/stackwright.v1.KeptState",
          value: KeptState.encode({ current, last: 1n }).finish(),
        },
      }),
    setTool: async (tool: string) =>
      storage.writeCAS({
        id: {
          uid: "tool",
          name: TEST_STACK.stack,
          type: STACK_TOOL_KIND,
          tenancy: stackTenancy(TEST_STACK),
        },
        version: "",
        generation: randomUUID(),
        metadata: {},
        status: {},
        data: {
          typeUrl: "type.googleapis.com/stackwright.v1.StackTool",
          value: StackTool.encode(StackTool.create({ tool })).finish(),
        },
      }),
    told: () => told,
  };
}

describe("taking a stack", () => {
  it("is refused while other commands keep its state at a server", async () => {
    const { take, keepState } = await setUp("lives");
    await keepState(1n);
    await expect(take()).rejects.toThrow('keep the state of the stack "shop" on the server');
    await (await take("0s", { passesLock: true })).release();
  });

  it("is possible once the state that other commands kept is deleted", async () => {
    const { take, keepState } = await setUp("lives");
    await keepState(0n);
    await (await take()).release();
  });

  it("is refused while another tool has the stack on the server, whatever the engine recorded before", async () => {
    const { take, setTool } = await setUp("lives");
    await setTool("terraform");
    await expect(take()).rejects.toThrow('"shop" is planned and applied by terraform');
    await (await take("0s", { passesLock: true })).release();
    const back = await setUp("lives");
    await back.setTool("stackwright");
    await (await back.take()).release();
  });

  it("does not wait where the lock is free", async () => {
    const { take, told } = await setUp("lives");
    await (await take()).release();
    expect(told()).toBe("");
  });

  it.each([
    ["project", "project", 'The project "project" is frozen by ann: audit'],
    ["stack", TEST_STACK.stack, 'The stack "shop" is frozen by ann: audit'],
  ])("is refused while the %s is frozen, until that ends by itself", async (_, name, text) => {
    const frozen = await setUp("lives");
    await frozen.freeze(name, { actor: "ann", reason: "audit" });
    await expect(frozen.take()).rejects.toThrow(
      text.replace('"project"', `"${TEST_STACK.project}"`),
    );
    await (await frozen.take("0s", { passesLock: true })).release();
    const thawed = await setUp("lives");
    await thawed.freeze(name, { actor: "ann", reason: "audit", untilMs: BigInt(Date.now() - 1) });
    await (await thawed.take()).release();
  });

  it("sees the freeze of the stack also where that of the project is hidden from it", async () => {
    const { freeze, hide, take } = await setUp("lives");
    hide("project");
    await (await take()).release();
    await freeze(TEST_STACK.stack, { actor: "ann", reason: "audit" });
    await expect(take()).rejects.toThrow('The stack "shop" is frozen by ann: audit');
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

  it("is refused with the reason while somebody has locked it, but for what ends a run", async () => {
    const { take, lock } = await setUp("lives");
    await lock({ actor: "token-ann", reason: "a migration", untilMs: 0n });
    await expect(take()).rejects.toThrow('The stack "shop" is locked by token-ann: a migration');
    await (await take("0s", { passesLock: true })).release();
    const until = BigInt(Date.now() + 3_600_000);
    await lock({ actor: "token-ann", reason: "a migration", untilMs: until });
    await expect(take()).rejects.toThrow(`until ${new Date(Number(until)).toISOString()}`);
    // One that has ended by itself holds nothing up.
    await lock({ actor: "token-ann", reason: "a migration", untilMs: 1n });
    await (await take()).release();
  });

  it("is refused where it was locked while the command waited", async () => {
    const { first, take, lock, told } = await setUp("lives");
    const held = await first.acquire();
    const taken = take("60s");
    await expect.poll(told).toContain("first works on it");
    await lock({ actor: "token-ann", reason: "a migration", untilMs: 0n });
    await held.release();
    await expect(taken).rejects.toThrow("is locked by token-ann");
    await using again = await first.acquire();
    expect(again.epoch).toBe(3n);
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

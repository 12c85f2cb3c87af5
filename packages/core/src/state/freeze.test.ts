import { Freeze, StackLock } from "@stackwright/proto/stackwright";
import type { ResourceType } from "@stackwright/storage";
import { createMemoryStorage } from "@stackwright/storage/memory";
import { describe, expect, it } from "vitest";
import { TEST_STACK } from "../testing/state-fixture.ts";
import { FREEZE_KIND, readFreeze } from "./freeze.ts";
import { HUMAN_LOCK_KIND, readHumanLock } from "./human-lock.ts";
import { stackResourceId, typeUrl } from "./kinds.ts";

/** A store with what keeps a stack or its project from being written. */
function start() {
  const storage = createMemoryStorage();
  const write = async (kind: ResourceType, stack: string, value: Uint8Array) => {
    const id = stackResourceId({ ...TEST_STACK, stack }, kind);
    const data = { typeUrl: typeUrl(kind), value };
    const rest = { version: "", generation: "g", metadata: {}, status: {} };
    await storage.writeCAS({ id: { ...id, uid: "U" }, ...rest, data });
  };
  const until = (reason: string, untilMs: bigint) => ({ actor: "ann", reason, untilMs });
  return {
    freeze: async (stack: string, reason: string, untilMs = 0n) =>
      write(FREEZE_KIND, stack, Freeze.encode(Freeze.fromPartial(until(reason, untilMs))).finish()),
    lock: async (untilMs = 0n) =>
      write(
        HUMAN_LOCK_KIND,
        TEST_STACK.stack,
        StackLock.encode(StackLock.fromPartial(until("why", untilMs))).finish(),
      ),
    frozen: async (nowMs = 0) => readFreeze(storage, TEST_STACK, nowMs),
    locked: async (nowMs = 0) => readHumanLock(storage, TEST_STACK, nowMs),
  };
}

describe("a freeze", () => {
  it("of the stack comes before one of the project", async () => {
    const { freeze, frozen } = start();
    expect(await frozen()).toBeUndefined();
    await freeze("project", "holidays");
    const found = { actor: "ann", untilMs: undefined };
    expect(await frozen()).toEqual({ ...found, of: "project", reason: "holidays" });
    await freeze(TEST_STACK.stack, "audit");
    expect(await frozen()).toEqual({ ...found, of: "stack", reason: "audit" });
  });

  it("of another stack is none", async () => {
    const { freeze, frozen } = start();
    await freeze("01J9ZC0000000000000000THER", "audit");
    expect(await frozen()).toBeUndefined();
  });

  it("ends by itself, and one of the project may last longer", async () => {
    const { freeze, frozen } = start();
    await freeze(TEST_STACK.stack, "audit", 1_000n);
    await freeze("project", "holidays", 2_000n);
    expect(await frozen(999)).toMatchObject({ of: "stack", untilMs: 1_000 });
    expect(await frozen(1_000)).toMatchObject({ of: "project", untilMs: 2_000 });
    expect(await frozen(2_000)).toBeUndefined();
  });
});

describe("a lock of a user", () => {
  it("lasts until it is taken away", async () => {
    const { lock, locked } = start();
    expect(await locked()).toBeUndefined();
    await lock();
    expect(await locked(1e15)).toEqual({ actor: "ann", reason: "why", untilMs: undefined });
  });

  it("ends by itself where it has a time", async () => {
    const { lock, locked } = start();
    await lock(1_000n);
    expect(await locked(999)).toMatchObject({ untilMs: 1_000 });
    expect(await locked(1_000)).toBeUndefined();
  });
});

import { createMemoryStorage } from "@stackwright/storage/memory";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { countingStore } from "../testing/counting-store.ts";
import { createTestState, type TestState } from "../testing/state-fixture.ts";
import type { StateWriter } from "./stack-state.ts";

const PROVIDER = { source: "example.com/acme/cloud", version: "1.0.0", alias: "" };

/** Two processes on one store; what the first one asks is counted. */
function twoProcesses() {
  const { storage, calls } = countingStore(createMemoryStorage());
  const mine = createTestState({ storage });
  const other = createTestState({ storage: mine.storage, owner: "other", blobs: mine.blobs });
  return { mine, other, calls };
}

async function adopt(writer: StateWriter, address: string): Promise<void> {
  await writer.write({
    kind: "adopt",
    key: { address, deposed: "" },
    object: {
      mode: "managed",
      type: "t",
      provider: PROVIDER,
      dependencies: [],
      createBeforeDestroy: false,
    },
    content: {
      value: { schemaVersion: 0, json: '{"id":"x"}', sensitive: [] },
      privateBytes: new Uint8Array(),
    },
  });
}

/** One whole run that records an object. */
async function record({ state, ulid }: TestState, address: string): Promise<void> {
  await using hold = await state.acquire();
  const writer = await hold.begin({ run: ulid() });
  await adopt(writer, address);
  await writer.finish();
}

const addresses = async ({ state }: TestState): Promise<string[]> =>
  [...(await state.read()).objects.keys()].toSorted();

describe("reading the whole state", () => {
  it("lists the objects once for a plan and the run that applies it", async () => {
    const { mine, other, calls } = twoProcesses();
    await record(other, "t.a");
    calls.clear();
    const { head } = await mine.state.read();
    await mine.state.read();
    await using hold = await mine.state.acquire();
    const writer = await hold.begin({ run: mine.ulid(), base: head.revision });
    expect([...writer.objects.keys()]).toEqual(["t.a"]);
    expect(calls.of("list", "StateObject")).toBe(1);
    expect(calls.of("read", "StackOutputs")).toBe(1);
  });

  it("can write what it has not read again", async () => {
    const { mine, other } = twoProcesses();
    await record(other, "t.a");
    await mine.state.read();
    await using hold = await mine.state.acquire();
    const writer = await hold.begin({ run: mine.ulid() });
    await writer.write({ kind: "forget", key: { address: "t.a", deposed: "" } });
    await writer.finish();
    expect(await addresses(other)).toEqual([]);
  });

  it("sees what another process wrote", async () => {
    const { mine, other } = twoProcesses();
    await record(other, "t.a");
    expect(await addresses(mine)).toEqual(["t.a"]);
    await record(other, "t.b");
    expect(await addresses(mine)).toEqual(["t.a", "t.b"]);
    await using hold = await mine.state.acquire();
    const writer = await hold.begin({ run: mine.ulid() });
    expect([...writer.objects.keys()].toSorted()).toEqual(["t.a", "t.b"]);
  });

  it("looks anew while a run is open, at every time", async () => {
    const { mine, other, calls } = twoProcesses();
    await record(other, "t.a");
    await using hold = await other.state.acquire();
    const writer = await hold.begin({ run: other.ulid() });
    await adopt(writer, "t.b");
    expect(await addresses(mine)).toEqual(["t.a", "t.b"]);
    await adopt(writer, "t.c");
    calls.clear();
    expect(await addresses(mine)).toEqual(["t.a", "t.b", "t.c"]);
    expect(calls.of("list", "StateObject")).toBe(1);
  });

  it("refuses a plan that is stale without reading anything but the head", async () => {
    const { mine, other, calls } = twoProcesses();
    await record(other, "t.a");
    const { head } = await mine.state.read();
    await record(other, "t.b");
    calls.clear();
    await using hold = await mine.state.acquire();
    await expect(hold.begin({ run: mine.ulid(), base: head.revision })).rejects.toMatchObject({
      code: "ENGINE_PLAN_STALE",
    });
    expect(calls.of("list", "StateObject")).toBe(0);
  });

  it("is what a reader without a memory sees, in any order of what two processes do", async () => {
    const step = fc.constantFrom("mine writes", "other writes", "mine reads", "mine begins");
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 12 }), async (steps) => {
        const { mine, other } = twoProcesses();
        for (const [at, what] of steps.entries()) {
          if (what === "mine writes") await record(mine, `t.m${at}`);
          else if (what === "other writes") await record(other, `t.o${at}`);
          else if (what === "mine reads") await mine.state.read();
          else {
            await using hold = await mine.state.acquire();
            const writer = await hold.begin({ run: mine.ulid() });
            const fresh = createTestState({ storage: mine.storage, blobs: mine.blobs });
            expect([...writer.objects]).toEqual([...(await fresh.state.read()).objects]);
          }
        }
        const fresh = createTestState({ storage: mine.storage, blobs: mine.blobs });
        expect(await mine.state.read()).toEqual(await fresh.state.read());
      }),
    );
  });
});

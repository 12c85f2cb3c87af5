import { createMemoryStorage } from "@stackwright/storage/memory";
import { describe, expect, it } from "vitest";
import { createTestState } from "../testing/state-fixture.ts";
import {
  hasState,
  NOTHING_WRITTEN,
  type SeenState,
  type StackPlace,
  seeState,
  untilOtherState,
} from "./seen-state.ts";
import { StackDirectory } from "./stack-directory.ts";

const PROJECT = { account: "acme", project: "shop" };
const OBJECT = {
  mode: "managed",
  type: "terraform_data",
  provider: { source: "terraform.io/builtin/terraform", version: "", alias: "" },
  dependencies: [],
  createBeforeDestroy: false,
} as const;
const CONTENT = {
  value: { schemaVersion: 0, json: "{}", sensitive: [] },
  privateBytes: new Uint8Array(),
};

/** A store, the stack "one" in it by its name, and an apply of a stack that ends at once. */
function start() {
  const storage = createMemoryStorage();
  const stacks = new StackDirectory({ storage });
  const place: StackPlace = { storage, project: PROJECT, name: "one" };
  const apply = async (name = "one") => {
    const { reference } = await stacks.ensure(PROJECT, name);
    const { state, ulid } = createTestState({ storage, reference });
    await using hold = await state.acquire();
    const writer = await hold.begin({ run: ulid() });
    const key = { address: `terraform_data.a["${ulid()}"]`, deposed: "" };
    await writer.write({ kind: "adopt", key, object: OBJECT, content: CONTENT });
    await writer.finish({ status: "applied" });
  };
  return { storage, stacks, place, apply };
}

/** Whether the wait for another state has ended; ends it otherwise. */
async function waiting(place: StackPlace, seen: SeenState) {
  const end = new AbortController();
  const progress = { isDone: false };
  const wait = async () => {
    await untilOtherState(place, seen, { signal: end.signal });
    progress.isDone = true;
  };
  const done = wait();
  return {
    progress,
    done,
    [Symbol.asyncDispose]: async () => {
      end.abort(new Error("the test has ended"));
      await done.catch(() => undefined);
    },
  };
}

describe("a state that was seen", () => {
  it("is another one after a run, and after the stack was made again", async () => {
    const { stacks, place, apply } = start();
    expect(await seeState(place)).toEqual(NOTHING_WRITTEN);
    await stacks.ensure(PROJECT, "one");
    expect(await hasState(place, NOTHING_WRITTEN)).toBe(true);
    await apply();
    const first = await seeState(place);
    expect(first.revision).toBeGreaterThan(0n);
    expect(await hasState(place, first)).toBe(true);
    await apply();
    expect(await hasState(place, first)).toBe(false);
    const other = start();
    await other.apply();
    expect((await seeState(other.place)).revision).toBe(first.revision);
    expect(await hasState(other.place, first)).toBe(false);
  });

  it("is waited for until a run writes, also where the stack is made by that run", async () => {
    const { place, apply } = start();
    await using first = await waiting(place, NOTHING_WRITTEN);
    await apply();
    await first.done;
    const seen = await seeState(place);
    await using second = await waiting(place, seen);
    await apply("one-more");
    expect(second.progress.isDone).toBe(false);
    await apply();
    await second.done;
  });

  it("is not waited for where it is another one already", async () => {
    const { place, apply } = start();
    await apply();
    await using late = await waiting(place, NOTHING_WRITTEN);
    await late.done;
    expect(late.progress.isDone).toBe(true);
  });

  it("is not known any more once the store ends the watch", async () => {
    const { storage, place, apply } = start();
    await apply();
    await using open = await waiting(place, await seeState(place));
    await using restore = await storage.restore();
    await restore.commit();
    await open.done;
    expect(open.progress.isDone).toBe(true);
  });

  it("is waited for until the signal aborts", async () => {
    const { place } = start();
    const signal = AbortSignal.abort(new Error("enough"));
    await expect(untilOtherState(place, NOTHING_WRITTEN, { signal })).rejects.toThrow("enough");
  });
});

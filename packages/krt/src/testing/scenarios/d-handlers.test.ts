import { beforeEach, describe, expect, it } from "vitest";
import {
  type Event,
  type HandlerRegistration,
  type InputCollection,
  onlyWhenChanged,
} from "../../index.ts";
import { trackEvents } from "../tracker.ts";
import { createRig, type Rig } from "./fixtures.ts";

/** A handler each of whose calls waits for one permit. */
function gated() {
  const calls: string[] = [];
  const waiting: (() => void)[] = [];
  return {
    calls,
    handler: async (event: Event<string>) => {
      await new Promise<void>((resolve) => waiting.push(resolve));
      calls.push(`${event.type}/${event.key}`);
    },
    /** Lets the call go on that is waiting. */
    permit: () => waiting.shift()?.(),
  };
}

describe("handlers: sync state, order, isolation", () => {
  let rig: Rig;
  beforeEach(() => {
    rig = createRig();
    return () => rig.rt.dispose();
  });

  /** A source with controllable sync and a gated handler on it. */
  function build(initial: readonly string[], synced: boolean) {
    const source: InputCollection<string> = rig.rt.source(initial, { synced });
    const gate = gated();
    const registration: HandlerRegistration = source.subscribe(gate.handler);
    const step = async () => {
      gate.permit();
      await rig.rt.settled();
    };
    return { source, gate, registration, step };
  }

  it("S068 parent synced, nothing initial: synced at once, no call", () => {
    const { registration, gate } = build([], true);
    expect(registration.synced).toBe(true);
    expect(gate.calls).toEqual([]);
  });

  it("S069 parent unsynced, nothing initial: synced with the parent, no call", async () => {
    const { source, registration, gate } = build([], false);
    await rig.rt.settled();
    expect(registration.synced).toBe(false);
    source.markSynced();
    expect(registration.synced).toBe(true);
    expect(gate.calls).toEqual([]);
  });

  it("S070 events from before the parent is synced delay the registration", async () => {
    const { source, registration, gate, step } = build([], false);
    source.set("a");
    source.set("b");
    await rig.rt.settled();
    source.markSynced();
    expect(registration.synced).toBe(false);
    await step();
    expect(gate.calls).toEqual(["add/a"]);
    expect(registration.synced).toBe(false);
    await step();
    expect(gate.calls).toEqual(["add/a", "add/b"]);
    expect(registration.synced).toBe(true);
  });

  it("S071 a replayed event comes first", async () => {
    const { source, registration, gate, step } = build(["init"], false);
    source.set("a");
    source.set("b");
    await rig.rt.settled();
    source.markSynced();
    await step();
    expect(registration.synced).toBe(false);
    await step();
    await step();
    expect(gate.calls).toEqual(["add/init", "add/a", "add/b"]);
    expect(registration.synced).toBe(true);
  });

  it("S072 events from after the sync do not delay the registration", async () => {
    const { source, registration, gate, step } = build(["init"], false);
    source.set("a");
    source.set("b");
    source.markSynced();
    source.set("after");
    await rig.rt.settled();
    await step();
    await step();
    expect(registration.synced).toBe(false);
    await step();
    expect(gate.calls).toEqual(["add/init", "add/a", "add/b"]);
    expect(registration.synced).toBe(true);
    await step();
    expect(gate.calls.at(-1)).toBe("add/after");
  });

  it("S073 parent synced: the registration waits for the replay only", async () => {
    const { source, registration, gate, step } = build(["init"], true);
    source.set("a");
    source.set("b");
    await rig.rt.settled();
    expect(registration.synced).toBe(false);
    await step();
    expect(gate.calls).toEqual(["add/init"]);
    expect(registration.synced).toBe(true);
    await step();
    await step();
    expect(gate.calls).toEqual(["add/init", "add/a", "add/b"]);
  });

  it("S074 a handler removed before the parent syncs is not called", async () => {
    const { source, registration, gate } = build([], false);
    const waiting = registration.whenSynced();
    registration.unsubscribe();
    source.set("a");
    source.markSynced();
    await rig.rt.settled();
    expect(gate.calls).toEqual([]);
    await expect(waiting).rejects.toMatchObject({ code: "KRT_DISPOSED" });
  });

  it("S075 a registration is not synced during the replay, and is when the wait returns", async () => {
    const source = rig.rt.source(["a"]);
    const seen: boolean[] = [];
    const registration: HandlerRegistration = source.subscribe(() => {
      seen.push(registration.synced);
    });
    await registration.whenSynced();
    expect(seen).toEqual([false]);
    expect(registration.synced).toBe(true);
  });

  it("S076 a handler that changes its batch does not change that of others", async () => {
    const source = rig.rt.source<string>();
    source.subscribeBatch((events) => {
      (events as Event<string>[]).length = 0;
    });
    const tracker = trackEvents(source);
    const singles: string[] = [];
    source.subscribe((event) => void singles.push(event.key));
    source.set("a");
    await rig.rt.settled();
    expect(tracker.take()).toEqual(["add/a"]);
    expect(singles).toEqual(["a"]);
  });

  it("S077 unsubscribing twice is harmless", () => {
    const { registration } = build([], true);
    registration.unsubscribe();
    registration.unsubscribe();
    expect(registration.closed).toBe(true);
  });

  it("S078 a handler that throws is reported and gets the next event, as do others", async () => {
    const source = rig.rt.source<string>([], { name: "letters" });
    const seen: string[] = [];
    source.subscribe((event) => {
      seen.push(event.key);
      throw new Error(`no ${event.key}`);
    });
    source.subscribe(async (event) => {
      await Promise.resolve();
      throw new Error(`late ${event.key}`);
    });
    const tracker = trackEvents(source);
    source.set("a");
    source.set("b");
    await rig.rt.settled();
    await new Promise((resolve) => setImmediate(resolve));
    expect(seen).toEqual(["a", "b"]);
    expect(tracker.take()).toEqual(["add/a", "add/b"]);
    expect(rig.errors.map((error) => error.code)).toEqual(Array(4).fill("KRT_HANDLER"));
    expect(rig.errors.map((error) => error.message).sort()).toEqual([
      "a handler of letters failed: late a",
      "a handler of letters failed: late b",
      "a handler of letters failed: no a",
      "a handler of letters failed: no b",
    ]);
  });

  it("S079 a write in a handler takes effect after it, in the same order for all", async () => {
    const source = rig.rt.source<string>();
    const during: number[] = [];
    const before = trackEvents(source);
    source.subscribe((event) => {
      if (event.key !== "a") return;
      source.set("b");
      during.push(source.size);
      rig.rt.batch(() => {
        source.set("c");
        source.set("d");
      });
      during.push(source.size);
    });
    const after = trackEvents(source);
    source.set("a");
    await rig.rt.settled();
    expect(during).toEqual([1, 1]);
    expect(before.batches.map((batch) => batch.map((event) => event.key))).toEqual([
      ["a"],
      ["b"],
      ["c", "d"],
    ]);
    expect(after.take()).toEqual(before.take());
  });

  it("a transaction in a handler that throws leaves nothing behind", async () => {
    const source = rig.rt.source<string>();
    source.subscribe((event) => {
      if (event.key !== "a") return;
      source.set("kept");
      try {
        rig.rt.transaction(() => {
          source.set("dropped");
          throw new Error("undo");
        });
      } catch {
        // expected
      }
    });
    source.set("a");
    await rig.rt.settled();
    expect([...source.keys()]).toEqual(["a", "kept"]);
  });

  it("S080 a handler behind a projection gets adds, deletes, and relevant updates", async () => {
    const source = rig.rt.source<{ key: string; name: string; other: number }>();
    const batches: string[][] = [];
    source.subscribeBatch(
      onlyWhenChanged(
        (object) => object.name,
        (events) => void batches.push(events.map((event) => `${event.type}/${event.key}`)),
      ),
    );
    source.set({ key: "k", name: "n", other: 1 });
    source.set({ key: "k", name: "n", other: 2 });
    rig.rt.batch(() => {
      source.set({ key: "k", name: "n", other: 3 });
      source.set({ key: "l", name: "m", other: 1 });
    });
    rig.rt.batch(() => {
      source.set({ key: "k", name: "n2", other: 3 });
      source.set({ key: "l", name: "m", other: 2 });
    });
    source.delete("l");
    await rig.rt.settled();
    expect(batches).toEqual([["add/k"], ["add/l"], ["update/k"], ["delete/l"]]);
  });
});

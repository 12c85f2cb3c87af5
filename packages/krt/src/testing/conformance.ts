import assert from "node:assert/strict";
import type { Collection } from "../collection.ts";
import { trackEvents } from "./tracker.ts";

/**
 * A collection under test, which must start empty and synced, with the metadata `{ foo: "bar" }`. Keys
 * have the form `x/y`.
 */
export interface ConformanceRig extends AsyncDisposable {
  readonly collection: Collection<unknown>;
  /** Brings an object with this key into the collection. */
  readonly create: (key: string) => void | Promise<void>;
  /** Takes the object with this key out. */
  readonly remove: (key: string) => void | Promise<void>;
  /** Resolves when nothing is left to propagate or to deliver. */
  readonly settled: () => Promise<void>;
}

/** One thing that every collection has to do. Rejects where it does not. */
export interface ConformanceCase {
  readonly name: string;
  readonly run: (rig: ConformanceRig) => Promise<void>;
}

const never = (): Promise<void> => new Promise(() => {});

function sorted(keys: Iterable<string>): string[] {
  return [...keys].sort();
}

/**
 * What holds for every type of collection, whatever it is made from: for authors of sources and
 * adapters, to be run with any test runner. Each case needs a rig of its own.
 */
export const collectionConformance: readonly ConformanceCase[] = [
  {
    name: "S081 starts empty, with its metadata",
    async run({ collection }) {
      assert.deepEqual(collection.list(), []);
      assert.equal(collection.size, 0);
      assert.deepEqual(collection.metadata, { foo: "bar" });
    },
  },
  {
    name: "S082-S083 an early handler gets what is created",
    async run({ collection, create, settled }) {
      const early = trackEvents(collection);
      await settled();
      await collection.whenSynced();
      await early.registration.whenSynced();
      await create("a/b");
      await settled();
      assert.deepEqual(early.take(), ["add/a/b"]);
      assert.equal(collection.size, 1);
      assert.notEqual(collection.get("a/b"), undefined);
      assert.deepEqual([...collection.keys()], ["a/b"]);
    },
  },
  {
    name: "S084-S085 late handlers get what is there",
    async run({ collection, create, settled }) {
      await create("a/b");
      await settled();
      for (let i = 0; i < 2; i++) {
        const late = trackEvents(collection);
        await settled();
        await late.registration.whenSynced();
        assert.deepEqual(late.take(), ["add/a/b"]);
      }
    },
  },
  {
    name: "S086-S087 a blocked handler is not synced and delays nobody",
    async run({ collection, create, settled }) {
      await create("a/b");
      await settled();
      const early = trackEvents(collection);
      const blocked = collection.subscribe(never);
      const late = trackEvents(collection);
      await create("a/c");
      await settled();
      assert.equal(blocked.synced, false);
      assert.deepEqual(sorted(early.take()), ["add/a/b", "add/a/c"]);
      assert.deepEqual(sorted(late.take()), ["add/a/b", "add/a/c"]);
      assert.equal(collection.size, 2);
      assert.ok(collection.has("a/b") && collection.has("a/c"));
    },
  },
  {
    name: "S088 an unsubscribed handler gets nothing more",
    async run({ collection, create, settled }) {
      const early = trackEvents(collection);
      const removed = trackEvents(collection);
      await create("a/b");
      removed.registration.unsubscribe();
      await settled();
      const former = removed.take();
      await create("a/d");
      await settled();
      assert.deepEqual(removed.take(), []);
      assert.ok(former.length <= 1);
      assert.deepEqual(sorted(early.take()), ["add/a/b", "add/a/d"]);
    },
  },
  {
    name: "S089 a handler registered while another is blocked gets everything",
    async run({ collection, create, settled }) {
      collection.subscribe(never);
      for (const key of ["a/b", "a/c", "a/d"]) await create(key);
      await settled();
      const fresh = trackEvents(collection);
      await settled();
      await fresh.registration.whenSynced();
      assert.deepEqual(sorted(fresh.take()), ["add/a/b", "add/a/c", "add/a/d"]);
    },
  },
  {
    name: "S090 a registration in the middle of a burst sees each object once",
    async run({ collection, create, settled }) {
      const keys = Array.from({ length: 20 }, (_, i) => `a/${i}`);
      const trackers = [];
      for (const [i, key] of keys.entries()) {
        if (i % 5 === 2) trackers.push(trackEvents(collection));
        await create(key);
      }
      await settled();
      const expected = sorted(keys.map((key) => `add/${key}`));
      for (const tracker of trackers) {
        await tracker.registration.whenSynced();
        assert.deepEqual(sorted(tracker.take()), expected);
      }
    },
  },
  {
    name: "S091 without replay only changes are delivered",
    async run({ collection, create, settled }) {
      await create("a/b");
      await settled();
      const tracker = trackEvents(collection, { replay: false });
      await settled();
      assert.deepEqual(tracker.take(), []);
      await create("a/c");
      await settled();
      assert.deepEqual(tracker.take(), ["add/a/c"]);
    },
  },
  {
    name: "S092 the events applied from the beginning give the list",
    async run({ collection, create, remove, settled }) {
      const state = new Map<string, unknown>();
      collection.subscribe((event) => {
        assert.equal(state.has(event.key), event.type !== "add", `${event.type}/${event.key}`);
        if (event.type === "delete") state.delete(event.key);
        else state.set(event.key, event.new);
      });
      for (const key of ["a/1", "a/2", "a/3"]) await create(key);
      await remove("a/2");
      await create("a/2");
      await remove("a/1");
      await settled();
      assert.deepEqual(sorted(state.keys()), ["a/2", "a/3"]);
      for (const [key, object] of state) assert.deepEqual(collection.get(key), object);
      assert.deepEqual(new Set(collection.list()), new Set(state.values()));
    },
  },
  {
    name: "an aborted signal unsubscribes",
    async run({ collection, create, settled }) {
      const controller = new AbortController();
      const tracker = trackEvents(collection, { signal: controller.signal });
      controller.abort();
      await create("a/b");
      await settled();
      assert.deepEqual(tracker.take(), []);
      assert.equal(tracker.registration.closed, true);
    },
  },
  {
    name: "S152 the last state stays readable after disposal, and nothing more is delivered",
    async run({ collection, create, settled }) {
      await create("a/b");
      await settled();
      const tracker = trackEvents(collection, { replay: false });
      collection.dispose();
      // A source refuses the write; anything else goes on without the collection.
      await Promise.resolve()
        .then(() => create("a/c"))
        .catch(() => {});
      await settled();
      assert.deepEqual([...collection.keys()], ["a/b"]);
      assert.notEqual(collection.get("a/b"), undefined);
      assert.equal(collection.list().length, 1);
      assert.equal(collection.size, 1);
      assert.deepEqual(tracker.take(), []);
      assert.equal(collection.disposed, true);
    },
  },
];

/** A collection under test for a change of key: it must start empty. */
export interface ReplaceRig extends Pick<ConformanceRig, "collection" | "create" | "settled"> {
  /** Puts the object with the second key in the place of that with the first, in one turn. */
  readonly replace: (from: string, to: string) => void | Promise<void>;
}

/** S093: what replacing a key looks like, for collections and singletons. */
export const replaceConformance: ConformanceCaseOf<ReplaceRig> = {
  name: "S093 a replaced key is a delete and an add",
  async run({ collection, create, replace, settled }) {
    const tracker = trackEvents(collection);
    await create("a/b");
    await settled();
    assert.deepEqual(tracker.take(), ["add/a/b"]);
    await replace("a/b", "a/c");
    await settled();
    assert.deepEqual(sorted(tracker.take()), ["add/a/c", "delete/a/b"]);
    assert.equal(collection.size, 1);
    await settled();
    assert.deepEqual(tracker.take(), []);
  },
};

/** One case over another kind of rig. */
export interface ConformanceCaseOf<R> {
  readonly name: string;
  readonly run: (rig: R) => Promise<void>;
}

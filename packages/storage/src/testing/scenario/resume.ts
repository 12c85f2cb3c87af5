import assert from "node:assert/strict";
import type { WatchEvent } from "../../types.ts";
import {
  assertCode,
  assertQuiet,
  assertSame,
  nextDelete,
  nextEvent,
  nextUpsert,
} from "../assertions.ts";
import type { ScenarioGroup } from "../harness.ts";
import { A1, B1, HOME, sample } from "../samples.ts";

/** Watches that go on where an earlier one stopped. */
export const RESUME_SCENARIOS: ScenarioGroup = {
  title: "watch resume",
  scenarios: [
    {
      title: "goes on with the very next event",
      applies: (capabilities) => capabilities.resume,
      run: async ({ storage }) => {
        const watch = await storage.watchList(A1, HOME, "");
        const first = await storage.writeCAS(sample(A1, HOME, "web"));
        const cursor = cursorOf(await nextEvent(watch));
        watch.close();
        const second = await storage.writeCAS(first);
        await storage.writeCAS(sample(B1, HOME, "other"));
        await storage.deleteCAS(second.id, second.version);
        using resumed = await storage.watchList(A1, HOME, "", {
          resumeAfter: cursor,
          endOfSnapshot: true,
        });
        assertSame(await nextUpsert(resumed), second);
        const deletion = await nextEvent(resumed);
        assert.equal(deletion.operation, "delete");
        const third = await storage.writeCAS(sample(A1, HOME, "web"));
        assertSame(await nextUpsert(resumed), third);
        using tail = await storage.watchList(A1, HOME, "", { resumeAfter: cursorOf(deletion) });
        assertSame(await nextUpsert(tail), third);
      },
    },
    {
      title: "goes on after the snapshot by the marker's cursor",
      applies: (capabilities) => capabilities.resume && capabilities.endOfSnapshot,
      run: async ({ storage }) => {
        await storage.writeCAS(sample(A1, HOME, "old"));
        const watch = await storage.watchList(A1, HOME, "", { endOfSnapshot: true });
        const snapshot = await nextEvent(watch);
        assert.ok(snapshot.operation === "upsert");
        assert.equal(snapshot.cursor, undefined, "no resuming inside a snapshot");
        const cursor = cursorOf(await nextEvent(watch));
        watch.close();
        const fresh = await storage.writeCAS(sample(A1, HOME, "fresh"));
        using resumed = await storage.watchList(A1, HOME, "", { resumeAfter: cursor });
        assertSame(await nextUpsert(resumed), fresh);
      },
    },
    {
      title: "loses nothing while others write",
      applies: (capabilities) => capabilities.resume,
      run: async ({ storage, factor }) => {
        const first = await storage.watchList(A1, HOME, "");
        let stored = await storage.writeCAS(sample(A1, HOME, "web"));
        let cursor = cursorOf(await nextEvent(first));
        first.close();
        const written: string[] = [];
        const writing = (async () => {
          for (let count = 0; count < 200 * factor; count += 1) {
            stored = await storage.writeCAS(stored);
            written.push(stored.version);
          }
        })();
        const seen: string[] = [];
        while (seen.length < 200 * factor) {
          using watch = await storage.watchList(A1, HOME, "", { resumeAfter: cursor });
          for (let count = 0; count < 7 && seen.length < 200 * factor; count += 1) {
            const event = await nextEvent(watch);
            assert.ok(event.operation === "upsert");
            cursor = cursorOf(event);
            seen.push(event.resource.version);
          }
        }
        await writing;
        assert.deepEqual(seen, written);
      },
    },
    {
      title: "gives WatchClosed for a cursor that means nothing here",
      applies: (capabilities) => capabilities.resume,
      run: async ({ storage }) => {
        await storage.writeCAS(sample(A1, HOME, "web"));
        for (const cursor of ["", "nonsense", "0", "1", "other-store.1", "💥"]) {
          using watch = await storage.watchList(A1, HOME, "", { resumeAfter: cursor });
          await assertCode(watch.next(), "STORAGE_WATCH_CLOSED");
        }
      },
    },
    {
      title: "gives WatchClosed for a cursor from before a restore",
      applies: (capabilities) => capabilities.resume && capabilities.restore,
      run: async ({ storage }) => {
        const watch = await storage.watchList(A1, HOME, "");
        await storage.writeCAS(sample(A1, HOME, "web"));
        const cursor = cursorOf(await nextEvent(watch));
        await using restore = await storage.restore();
        await restore.commit();
        using resumed = await storage.watchList(A1, HOME, "", { resumeAfter: cursor });
        await assertCode(resumed.next(), "STORAGE_WATCH_CLOSED");
      },
    },
    {
      title: "gives WatchClosed once the history is compacted",
      applies: (capabilities) => capabilities.resume,
      open: { history: { events: 5 } },
      run: async ({ storage, harness }) => {
        const watch = await storage.watchList(A1, HOME, "");
        const stored = await storage.writeCAS(sample(A1, HOME, "web"));
        const cursor = cursorOf(await nextEvent(watch));
        await storage.deleteCAS(stored.id, stored.version);
        assertSame(await nextDelete(watch), stored);
        for (let count = 0; count < 20; count += 1) {
          await storage.writeCAS(sample(B1, HOME, `filler${count}`));
        }
        await harness.compact?.(storage);
        using resumed = await storage.watchList(A1, HOME, "", { resumeAfter: cursor });
        await assertCode(resumed.next(), "STORAGE_WATCH_CLOSED");
        // A watch that has kept up is not concerned.
        const marker = await storage.writeCAS(sample(A1, HOME, "marker"));
        assertSame(await nextUpsert(watch), marker);
        watch.close();
      },
    },
    {
      title: "survives a restart within the history",
      applies: (capabilities) => capabilities.resume && capabilities.durability !== "none",
      run: async ({ storage, harness }) => {
        const watch = await storage.watchList(A1, HOME, "");
        const first = await storage.writeCAS(sample(A1, HOME, "web"));
        const cursor = cursorOf(await nextEvent(watch));
        const second = await storage.writeCAS(first);
        await storage.close();
        await using reopened = await harness.open();
        using resumed = await reopened.watchList(A1, HOME, "", { resumeAfter: cursor });
        assertSame(await nextUpsert(resumed), second);
        const third = await reopened.writeCAS(second);
        assertSame(await nextUpsert(resumed), third);
      },
    },
    {
      title: "goes on from a bookmark of a watch that had nothing to deliver",
      applies: (capabilities) => capabilities.resume && capabilities.endOfSnapshot,
      open: { watchBuffer: { bookmarkMs: 20 } },
      run: async ({ storage, harness }) => {
        const stored = await storage.writeCAS(sample(A1, HOME, "web"));
        const options = { bookmarks: true, endOfSnapshot: true };
        using watch = await storage.watchList(A1, HOME, "", options);
        using plain = await storage.watchList(A1, HOME, "", { endOfSnapshot: true });
        assertSame(await nextUpsert(watch), stored);
        const old = cursorOf(await nextEvent(watch));
        let other = await storage.writeCAS(sample(B1, HOME, "other"));
        const first = await nextEvent(watch);
        assert.equal(first.operation, "bookmark");
        assert.notEqual(cursorOf(first), old);
        // It says how far the watch has come: what is written later is behind it.
        other = await storage.writeCAS(other);
        const second = await nextEvent(watch);
        assert.equal(second.operation, "bookmark");
        const later = await storage.writeCAS(stored);
        let event = await nextEvent(watch);
        while (event.operation === "bookmark") event = await nextEvent(watch);
        assert.ok(event.operation === "upsert");
        assertSame(event.resource, later);
        using resumed = await storage.watchList(A1, HOME, "", { resumeAfter: cursorOf(second) });
        assertSame(await nextUpsert(resumed), later);
        // It is newer than what is not retained any more, and none comes without a request.
        await harness.compact?.(storage);
        assertSame(await nextUpsert(plain), stored);
        assert.equal((await nextEvent(plain)).operation, "endOfSnapshot");
        assertSame(await nextUpsert(plain), later);
        await storage.writeCAS(other);
        await assertQuiet(plain, 100);
      },
    },
    {
      title: "is refused where it is not offered",
      applies: (capabilities) => !capabilities.resume,
      run: async ({ storage }) => {
        const watching = storage.watchList(A1, HOME, "", { resumeAfter: "1" });
        await assertCode(watching, "STORAGE_UNSUPPORTED");
      },
    },
  ],
};

function cursorOf(event: WatchEvent): string {
  assert.ok(event.cursor !== undefined, `a ${event.operation} without a cursor`);
  return event.cursor;
}

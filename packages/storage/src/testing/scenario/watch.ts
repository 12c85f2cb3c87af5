import assert from "node:assert/strict";
import type { Resource } from "../../resource.ts";
import {
  assertCode,
  assertSame,
  assertSameSet,
  nextDelete,
  nextEvent,
  nextUpsert,
} from "../assertions.ts";
import type { Scenario, ScenarioGroup } from "../harness.ts";
import { A1, A2, HOME, SEED, SEED_FILTERS, sample, sampleId } from "../samples.ts";
import { writeSeed } from "./list.ts";

const snapshotScenarios: readonly Scenario[] = SEED_FILTERS.map((filter) => ({
  title: `starts with one upsert per resource of ${filter.title}`,
  run: async ({ storage }) => {
    const stored = await writeSeed(storage);
    using watch = await storage.watchList(filter.type, filter.tenancy, filter.prefix);
    const seen: Resource[] = [];
    for (const _ of filter.selects) seen.push(await nextUpsert(watch));
    assertSameSet(
      seen,
      filter.selects.map((position) => stored[position] as Resource),
    );
    // Whatever else was under way would come before this marker.
    const marker = await writeMarker(filter.tenancy);
    assertSame(await nextUpsert(watch), marker);

    function writeMarker(tenancy: typeof filter.tenancy): Promise<Resource> {
      const concrete = {
        partition: tenancy.partition === "*" ? "default" : tenancy.partition,
        peerName: tenancy.peerName === "*" ? "local" : tenancy.peerName,
        namespace: tenancy.namespace === "*" ? "default" : tenancy.namespace,
      };
      const type = { ...filter.type, groupVersion: "v1" };
      return storage.writeCAS(sample(type, concrete, `${filter.prefix}~marker`));
    }
  },
}));

const deltaScenarios: readonly Scenario[] = SEED_FILTERS.map((filter) => ({
  title: `delivers writes and deletes of ${filter.title} in order, readable at once`,
  run: async ({ storage }) => {
    using watch = await storage.watchList(filter.type, filter.tenancy, filter.prefix);
    const expected = filter.selects.map((position) => SEED[position] as Resource);
    const writing = writeSeed(storage);
    for (const { id } of expected) {
      const seen = await nextUpsert(watch);
      assert.deepEqual(seen.id, id);
      assertSame(await storage.read("eventual", id), seen);
    }
    await writing;
    for (const { id } of expected) {
      const last = await storage.read("strong", id);
      const deleting = storage.deleteCAS(id, last.version);
      assertSame(await nextDelete(watch), last);
      await assertCode(storage.read("eventual", id), "STORAGE_NOT_FOUND");
      await deleting;
    }
  },
}));

/** Watches: snapshot, order, completeness, abort, close. */
export const WATCH_SCENARIOS: ScenarioGroup = {
  title: "watchList",
  scenarios: [
    ...snapshotScenarios,
    ...deltaScenarios,
    {
      title: "delivers every version of a resource, and its deletion with the last one",
      run: async ({ storage }) => {
        using watch = await storage.watchList(A1, HOME, "");
        const versions: string[] = [];
        let stored = await storage.writeCAS(sample(A1, HOME, "web"));
        versions.push(stored.version);
        for (let count = 0; count < 3; count += 1) {
          stored = await storage.writeCAS(stored);
          versions.push(stored.version);
        }
        await storage.deleteCAS(stored.id, stored.version);
        for (const version of versions) assert.equal((await nextUpsert(watch)).version, version);
        assertSame(await nextDelete(watch), stored);
      },
    },
    {
      title: "does not merge a deletion with the next lifetime",
      run: async ({ storage }) => {
        const first = await storage.writeCAS(sample(A1, HOME, "web"));
        using watch = await storage.watchList(A1, HOME, "");
        assertSame(await nextUpsert(watch), first);
        await storage.deleteCAS(first.id, first.version);
        const second = await storage.writeCAS(sample(A1, HOME, "web", { uid: "b" }));
        assertSame(await nextDelete(watch), first);
        assertSame(await nextUpsert(watch), second);
      },
    },
    {
      title: "takes a change of the group version as an update",
      run: async ({ storage }) => {
        const first = await storage.writeCAS(sample(A1, HOME, "web"));
        using watch = await storage.watchList(A1, HOME, "");
        assertSame(await nextUpsert(watch), first);
        const second = await storage.writeCAS({ ...first, id: sampleId(A2, HOME, "web") });
        assertSame(await nextUpsert(watch), second);
        await storage.deleteCAS(first.id, second.version);
        assertSame(await nextDelete(watch), second);
      },
    },
    {
      title: "leaves out what the filter does not select",
      run: async ({ storage }) => {
        using watch = await storage.watchList(A1, HOME, "a");
        for (const name of ["web", "A", "b", ""].filter((name) => name !== "")) {
          await storage.writeCAS(sample(A1, HOME, name));
        }
        await storage.writeCAS(sample({ ...A1, kind: "c" }, HOME, "a"));
        await storage.writeCAS(sample(A1, { ...HOME, namespace: "x" }, "a"));
        const marker = await storage.writeCAS(sample(A1, HOME, "a"));
        assertSame(await nextUpsert(watch), marker);
      },
    },
    {
      title: "serves two watches of one filter, each at its own pace",
      run: async ({ storage }) => {
        using early = await storage.watchList(A1, HOME, "");
        using late = await storage.watchList(A1, HOME, "");
        const stored: Resource[] = [];
        for (const name of ["a", "b", "c"]) {
          stored.push(await storage.writeCAS(sample(A1, HOME, name)));
          assertSame(await nextUpsert(early), stored.at(-1) as Resource);
        }
        for (const resource of stored) assertSame(await nextUpsert(late), resource);
      },
    },
    {
      title: "gives each consumer bytes of its own",
      run: async ({ storage }) => {
        const data = { typeUrl: "t", value: Uint8Array.of(1, 2, 3) };
        using one = await storage.watchList(A1, HOME, "");
        using two = await storage.watchList(A1, HOME, "");
        const stored = await storage.writeCAS(sample(A1, HOME, "web", { data }));
        (await nextUpsert(one)).data?.value.fill(0);
        assertSame(await nextUpsert(two), stored);
        assertSame(await storage.read("strong", stored.id), stored);
      },
    },
    {
      title: "loses nothing when next is aborted",
      run: async ({ storage, factor }) => {
        using watch = await storage.watchList(A1, HOME, "");
        const reason = new Error("enough");
        await assert.rejects(watch.next({ signal: AbortSignal.abort(reason) }), reason);
        const aborting = new AbortController();
        const pending = watch.next({ signal: aborting.signal });
        aborting.abort(reason);
        await assert.rejects(pending, reason);

        let stored = await storage.writeCAS(sample(A1, HOME, "web"));
        assertSame(await nextUpsert(watch), stored);
        for (let round = 0; round < 200 * factor; round += 1) {
          const racing = new AbortController();
          const next = watch.next({ signal: racing.signal });
          const writing = storage.writeCAS(stored);
          // The abort falls before, while and after the event arrives.
          for (let turns = round % 7; turns > 0; turns -= 1) await Promise.resolve();
          if (round % 2 === 0) racing.abort(reason);
          const event = await next.catch((error: unknown) => {
            assert.equal(error, reason);
          });
          stored = await writing;
          const seen = event ?? (await nextEvent(watch));
          assert.ok(seen.operation === "upsert");
          assert.equal(seen.resource.version, stored.version);
        }
      },
    },
    {
      title: "takes one next at a time",
      run: async ({ storage }) => {
        using watch = await storage.watchList(A1, HOME, "");
        const first = watch.next();
        await assertCode(watch.next(), "STORAGE_INVALID_ARGUMENT");
        const stored = await storage.writeCAS(sample(A1, HOME, "web"));
        assert.deepEqual((await first).operation, "upsert");
        await storage.deleteCAS(stored.id, stored.version);
        assertSame(await nextDelete(watch), stored);
      },
    },
    {
      title: "ends for its consumer on close, as often as that is called",
      run: async ({ storage }) => {
        const watch = await storage.watchList(A1, HOME, "");
        const pending = assertCode(watch.next(), "STORAGE_WATCH_ENDED");
        watch.close();
        await pending;
        await assertCode(watch.next(), "STORAGE_WATCH_ENDED");
        watch.close();
        await storage.writeCAS(sample(A1, HOME, "web"));
        await assertCode(watch.next(), "STORAGE_WATCH_ENDED");
      },
    },
    {
      title: "closes when the loop over it is left",
      run: async ({ storage }) => {
        await storage.writeCAS(sample(A1, HOME, "web"));
        const watch = await storage.watchList(A1, HOME, "");
        for await (const event of watch) {
          assert.equal(event.operation, "upsert");
          break;
        }
        await assertCode(watch.next(), "STORAGE_WATCH_ENDED");
        const other = await storage.watchList(A1, HOME, "");
        let events = 0;
        for await (const _ of other) {
          events += 1;
          other.close();
        }
        assert.equal(events, 1);
      },
    },
    {
      title: "closes with WatchClosed when its consumer is too slow, and spares the others",
      open: { watchBuffer: { events: 50 } },
      run: async ({ storage, capabilities }) => {
        using slow = await storage.watchList(A1, HOME, "");
        using fast = await storage.watchList(A1, HOME, "");
        let stored = await storage.writeCAS(sample(A1, HOME, "web"));
        for (let count = 0; count < 500; count += 1) {
          assert.equal((await nextUpsert(fast)).version, stored.version);
          stored = await storage.writeCAS(stored);
        }
        // What it has of the stream has no hole; then WatchClosed, for good.
        let last = 0;
        for (;;) {
          const event = await slow.next().catch((error: unknown) => error);
          if (event instanceof Error) {
            await assertCode(Promise.reject(event), "STORAGE_WATCH_CLOSED");
            break;
          }
          last += 1;
          assert.ok(last < 500, `${capabilities.engine} buffers without a bound`);
        }
        await assertCode(slow.next(), "STORAGE_WATCH_CLOSED");
      },
    },
    {
      title: "gives WatchClosed when the backend is closed, and the backend Inconsistent",
      run: async ({ storage }) => {
        const stored = await storage.writeCAS(sample(A1, HOME, "web"));
        const pending = await storage.watchList(A1, HOME, "none");
        const unread = await storage.watchList(A1, HOME, "");
        const next = assertCode(pending.next(), "STORAGE_WATCH_CLOSED");
        await storage.close();
        await next;
        await assertCode(pending.next(), "STORAGE_WATCH_CLOSED");
        await assertCode(unread.next(), "STORAGE_WATCH_CLOSED");
        const calls = [
          storage.read("strong", stored.id),
          storage.writeCAS(stored),
          storage.deleteCAS(stored.id, stored.version),
          storage.list("eventual", A1, HOME, ""),
          storage.watchList(A1, HOME, ""),
          storage.listByOwner(stored.id),
        ];
        await Promise.all(calls.map((call) => assertCode(call, "STORAGE_INCONSISTENT")));
        await storage.close();
      },
    },
    {
      title: "marks the end of the snapshot once where asked, also of an empty one",
      applies: (capabilities) => capabilities.endOfSnapshot,
      run: async ({ storage }) => {
        using empty = await storage.watchList(A1, HOME, "", { endOfSnapshot: true });
        assert.equal((await nextEvent(empty)).operation, "endOfSnapshot");
        const stored: Resource[] = [];
        for (const name of ["a", "b", "c"]) {
          stored.push(await storage.writeCAS(sample(A1, HOME, name)));
        }
        using full = await storage.watchList(A1, HOME, "", { endOfSnapshot: true });
        using plain = await storage.watchList(A1, HOME, "");
        const after = await storage.writeCAS(sample(A1, HOME, "d"));
        for (const watch of [full, plain]) {
          const snapshot = [];
          for (const _ of stored) snapshot.push(await nextUpsert(watch));
          assertSameSet(snapshot, stored);
        }
        assert.equal((await nextEvent(full)).operation, "endOfSnapshot");
        for (const watch of [full, plain]) assertSame(await nextUpsert(watch), after);
        for (const resource of stored) assertSame(await nextUpsert(empty), resource);
      },
    },
    {
      title: "refuses a marker that it does not have",
      applies: (capabilities) => !capabilities.endOfSnapshot,
      run: async ({ storage }) => {
        const watching = storage.watchList(A1, HOME, "", { endOfSnapshot: true });
        await assertCode(watching, "STORAGE_UNSUPPORTED");
      },
    },
  ],
};

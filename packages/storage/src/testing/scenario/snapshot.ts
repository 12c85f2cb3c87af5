import assert from "node:assert/strict";
import type { Resource } from "../../resource.ts";
import type { StorageBackend } from "../../types.ts";
import { assertCode, assertSame, assertSameSet, nextUpsert, settledList } from "../assertions.ts";
import type { ScenarioGroup } from "../harness.ts";
import { A1, B1, EVERYWHERE, HOME, sample, sampleId } from "../samples.ts";
import { writeSeed } from "./list.ts";

/** Snapshots of a whole store, and their restoration. */
export const SNAPSHOT_SCENARIOS: ScenarioGroup = {
  title: "snapshot and restore",
  scenarios: [
    {
      title: "a snapshot holds everything and nothing that is written during its iteration",
      applies: (capabilities) => capabilities.snapshot,
      run: async ({ storage }) => {
        const stored = await writeSeed(storage);
        const [first, second] = stored as [Resource, Resource];
        await using snapshot = await storage.snapshot();
        const seen: Resource[] = [];
        for await (const resource of snapshot) {
          if (seen.length === 0) {
            await storage.writeCAS(first);
            await storage.deleteCAS(second.id, second.version);
            await storage.writeCAS(sample(B1, HOME, "late"));
          }
          seen.push(resource);
        }
        assertSameSet(seen, stored);
      },
    },
    {
      title:
        "a watch resumed at a snapshot's cursor gives what was committed after it, and that alone",
      applies: (capabilities) => capabilities.snapshot && capabilities.resume,
      run: async ({ storage }) => {
        const [first] = (await writeSeed(storage)) as [Resource];
        await using snapshot = await storage.snapshot();
        // Over a connection the position is not known.
        if (snapshot.cursor === undefined) return;
        const updated = await storage.writeCAS(first);
        const late = await storage.writeCAS(sample(A1, HOME, "late"));
        using watch = await storage.watchList(A1, EVERYWHERE, "", { resumeAfter: snapshot.cursor });
        assertSame(await nextUpsert(watch), updated);
        assertSame(await nextUpsert(watch), late);
      },
    },
    {
      title: "a restore replaces everything, keeps versions, and closes watches",
      applies: (capabilities) => capabilities.restore,
      run: async ({ storage }) => {
        const api = await storage.writeCAS(sample(A1, HOME, "api"));
        using watch = await storage.watchList(A1, HOME, "");
        assertSame(await nextUpsert(watch), api);
        const owner = sampleId(A1, HOME, "owner");
        const billing = sample(A1, HOME, "billing", { version: "1", owner });
        await using restore = await storage.restore();
        await restore.apply(billing);
        assertSame(await storage.read("strong", api.id), api);
        await assertCode(storage.read("strong", billing.id), "STORAGE_NOT_FOUND");
        await restore.commit();
        assertSame(await storage.read("strong", billing.id), billing);
        await assertCode(storage.read("strong", api.id), "STORAGE_NOT_FOUND");
        assertSameSet(await storage.listByOwner(owner), [billing]);
        await assertCode(watch.next(), "STORAGE_WATCH_CLOSED");
        using fresh = await storage.watchList(A1, HOME, "");
        assertSame(await nextUpsert(fresh), billing);
        const marker = await storage.writeCAS(sample(A1, HOME, "marker"));
        assertSame(await nextUpsert(fresh), marker);
        const updated = await storage.writeCAS(billing);
        assert.notEqual(updated.version, "1");
        await restore.abort();
        assertSame(await storage.read("strong", billing.id), updated);
      },
    },
    {
      title: "an aborted restore leaves no trace",
      applies: (capabilities) => capabilities.restore,
      run: async ({ storage }) => {
        const api = await storage.writeCAS(sample(A1, HOME, "api"));
        using watch = await storage.watchList(A1, HOME, "");
        assertSame(await nextUpsert(watch), api);
        const restore = await storage.restore();
        await restore.apply(sample(A1, HOME, "billing", { version: "1" }));
        await restore.abort();
        await restore.abort();
        await assertCode(restore.commit(), "STORAGE_INVALID_ARGUMENT");
        const more = restore.apply(sample(A1, HOME, "more", { version: "2" }));
        await assertCode(more, "STORAGE_INVALID_ARGUMENT");
        assertSameSet(await settledList(storage, A1, HOME, ""), [api]);
        const marker = await storage.writeCAS(sample(A1, HOME, "marker"));
        assertSame(await nextUpsert(watch), marker);
      },
    },
    {
      title: "a snapshot restored into its own store gives the same content",
      applies: (capabilities) => capabilities.snapshot && capabilities.restore,
      run: async ({ storage }) => {
        await writeSeed(storage);
        const before = await settledList(storage, A1, EVERYWHERE, "");
        await using snapshot = await storage.snapshot();
        await using restore = await storage.restore();
        for await (const resource of snapshot) await restore.apply(resource);
        await storage.writeCAS(sample(A1, HOME, "doomed"));
        await restore.commit();
        assertSameSet(await settledList(storage, A1, EVERYWHERE, ""), before);
      },
    },
    {
      title: "versions after a restore differ from all restored and all issued before",
      applies: (capabilities) => capabilities.restore,
      run: async ({ storage }) => {
        const used = new Set<string>();
        let last = await storage.writeCAS(sample(A1, HOME, "web"));
        for (let count = 0; count < 10; count += 1) {
          used.add(last.version);
          last = await storage.writeCAS(last);
        }
        used.add(last.version);
        const ahead = String(
          Number.isSafeInteger(Number(last.version)) ? Number(last.version) + 5 : 5,
        );
        await using restore = await storage.restore();
        await restore.apply(sample(A1, HOME, "ahead", { version: ahead }));
        await restore.apply(sample(A1, HOME, "opaque", { version: "not-a-number" }));
        await restore.commit();
        used.add(ahead);
        let stored = await storage.writeCAS(sample(A1, HOME, "web"));
        for (let count = 0; count < 10; count += 1) {
          assert.ok(!used.has(stored.version), `version ${stored.version} was used before`);
          used.add(stored.version);
          stored = await storage.writeCAS(stored);
        }
        const opaque = sample(A1, HOME, "opaque", { version: "not-a-number" });
        await storage.writeCAS(opaque);
      },
    },
    {
      title: "a write that races with a restore is gone, or there and seen by watches",
      applies: (capabilities) => capabilities.restore,
      run: async ({ storage, factor }) => {
        for (let round = 0; round < 10 * factor; round += 1) {
          const restore = await storage.restore();
          await restore.apply(sample(A1, HOME, "kept", { version: `r${round}` }));
          const writing = storage.writeCAS(sample(A1, HOME, `racer${round}`));
          for (let turns = round % 5; turns > 0; turns -= 1) await Promise.resolve();
          const committing = restore.commit();
          const late = storage.writeCAS(sample(A1, HOME, `late${round}`));
          await Promise.all([writing, committing, late]);
          assertSameSet(await watchedSet(storage), await settledList(storage, A1, HOME, ""));
        }
      },
    },
    {
      title: "is refused where it is not offered",
      applies: (capabilities) => !capabilities.snapshot || !capabilities.restore,
      run: async ({ storage, capabilities }) => {
        if (!capabilities.snapshot) await assertCode(storage.snapshot(), "STORAGE_UNSUPPORTED");
        if (!capabilities.restore) await assertCode(storage.restore(), "STORAGE_UNSUPPORTED");
      },
    },
  ],
};

/** What a new watch shows, up to a marker of its own. */
async function watchedSet(storage: StorageBackend): Promise<Resource[]> {
  using watch = await storage.watchList(A1, HOME, "");
  const marker = await storage.writeCAS(sample(A1, HOME, "~marker"));
  const seen = new Map<string, Resource>();
  for (;;) {
    const resource = await nextUpsert(watch);
    seen.set(resource.id.name, resource);
    if (resource.version === marker.version) return [...seen.values()];
  }
}

import assert from "node:assert/strict";
import { setTimeout as delay } from "node:timers/promises";
import { isStorageError } from "../../errors.ts";
import type { Resource } from "../../resource.ts";
import type { StorageBackend } from "../../types.ts";
import {
  assertCode,
  assertSame,
  assertSameSet,
  eventually,
  nextEvent,
  nextUpsert,
} from "../assertions.ts";
import type { ScenarioGroup } from "../harness.ts";
import { A1, HOME, sample, sampleId } from "../samples.ts";

/** Several clients on one key: exactly one of those who compete wins. */
export const CONCURRENCY_SCENARIOS: ScenarioGroup = {
  title: "concurrency",
  scenarios: [
    {
      title: "counts every increment of competing read-modify-write loops once",
      run: async ({ storage, factor }) => {
        const writers = 16;
        const rounds = 5 * factor;
        const created = await storage.writeCAS(counter(0));
        using watch = await storage.watchList(A1, HOME, "counter");
        assertSame(await nextUpsert(watch), created);
        const versions = new Set<string>();
        await Promise.all(
          Array.from({ length: writers }, async () => {
            for (let count = 0; count < rounds; count += 1) {
              versions.add((await increment(storage)).version);
            }
          }),
        );
        const final = await storage.read("strong", created.id);
        assert.equal(final.generation, String(writers * rounds));
        assert.equal(versions.size, writers * rounds);
        for (let expected = 1; expected <= writers * rounds; expected += 1) {
          assert.equal((await nextUpsert(watch)).generation, String(expected));
        }
      },
    },
    {
      title: "lets one of many creators win",
      run: async ({ storage }) => {
        const outcomes = await Promise.allSettled(
          Array.from({ length: 32 }, (_, index) =>
            storage.writeCAS(sample(A1, HOME, "web", { uid: `u${index}` })),
          ),
        );
        const winners = outcomes.filter((outcome) => outcome.status === "fulfilled");
        assert.equal(winners.length, 1);
        for (const outcome of outcomes) {
          if (outcome.status === "fulfilled") continue;
          const reason: unknown = outcome.reason;
          assert.ok(
            isStorageError(reason, "STORAGE_WRONG_UID", "STORAGE_CAS_FAILURE"),
            `lost by ${String(reason)}`,
          );
        }
        const stored = await storage.read("strong", sampleId(A1, HOME, "web", ""));
        assertSame(stored, winners[0]?.value as Resource);
      },
    },
    {
      title: "lets a delete or an update of one version win, and tells watchers which",
      run: async ({ storage, factor }) => {
        for (let round = 0; round < 20 * factor; round += 1) {
          const stored = await storage.writeCAS(sample(A1, HOME, `web${round}`));
          using watch = await storage.watchList(A1, HOME, stored.id.name);
          await nextUpsert(watch);
          const updating = storage.writeCAS(stored);
          const deleting = storage.deleteCAS(stored.id, stored.version);
          const [updated, deleted] = await Promise.allSettled(
            round % 2 === 0 ? [updating, deleting] : [deleting, updating],
          ).then((both) => (round % 2 === 0 ? both : both.toReversed()));
          assert.notEqual(updated?.status, deleted?.status, "exactly one wins");
          const event = await nextEvent(watch);
          assert.equal(event.operation, updated?.status === "fulfilled" ? "upsert" : "delete");
        }
      },
    },
    {
      title: "shows a write to other instances in the end, and each its own order",
      applies: (capabilities) => capabilities.shared,
      run: async ({ storage, harness }) => {
        await using other = await harness.open();
        using watch = await other.watchList(A1, HOME, "");
        let stored = await storage.writeCAS(sample(A1, HOME, "web"));
        for (let count = 0; count < 50; count += 1) {
          const seen = await nextUpsert(watch);
          assertSame(seen, stored);
          assertSame(await other.read("eventual", stored.id), stored);
          assertSameSet(await other.list("eventual", A1, HOME, ""), [stored]);
          const writer = count % 2 === 0 ? other : storage;
          stored = await writer.writeCAS(stored);
          assertSame(await storage.read("strong", stored.id), stored);
          assertSame(await other.read("strong", stored.id), stored);
        }
        await eventually(async () => {
          assertSame(await storage.read("eventual", stored.id), stored);
        });
      },
    },
    {
      title: "lets one of many creators on several instances win",
      applies: (capabilities) => capabilities.shared,
      run: async ({ storage, harness, factor }) => {
        await using other = await harness.open();
        for (let round = 0; round < 10 * factor; round += 1) {
          const outcomes = await Promise.allSettled(
            [storage, other, storage, other].map((instance, index) =>
              instance.writeCAS(sample(A1, HOME, `web${round}`, { uid: `u${index}` })),
            ),
          );
          assert.equal(outcomes.filter((outcome) => outcome.status === "fulfilled").length, 1);
        }
      },
    },
    {
      title: "keeps everything over a restart",
      applies: (capabilities) => capabilities.durability !== "none",
      run: async ({ storage, harness }) => {
        const kept = await storage.writeCAS(sample(A1, HOME, "kept"));
        const gone = await storage.writeCAS(sample(A1, HOME, "gone"));
        await storage.deleteCAS(gone.id, gone.version);
        await storage.close();
        const versions = new Set([kept.version, gone.version]);
        let last = kept;
        for (let round = 0; round < 5; round += 1) {
          await using reopened = await harness.open();
          assertSame(await reopened.read("strong", kept.id), last);
          await assertCode(reopened.read("strong", gone.id), "STORAGE_NOT_FOUND");
          last = await reopened.writeCAS(last);
          assert.ok(!versions.has(last.version), "versions go on where they were");
          versions.add(last.version);
        }
      },
    },
  ],
};

function counter(value: number): Resource {
  return sample(A1, HOME, "counter", { generation: String(value) });
}

async function increment(storage: StorageBackend): Promise<Resource> {
  for (;;) {
    const read = await storage.read("eventual", counter(0).id);
    const next = { ...read, generation: String(Number(read.generation) + 1) };
    try {
      return await storage.writeCAS(next);
    } catch (error) {
      if (!isStorageError(error, "STORAGE_CAS_FAILURE")) throw error;
      // An eventual read may need a while to show what was faster.
      await delay(0);
    }
  }
}

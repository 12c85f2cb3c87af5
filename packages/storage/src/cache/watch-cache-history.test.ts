import { describe, expect, test } from "vitest";
import { createMemoryStorage } from "../engine/memory.ts";
import { createSqliteStorage } from "../engine/sqlite.ts";
import { checkHistory } from "../testing/history/check-history.ts";
import { runWorkload } from "../testing/history/workload.ts";
import { LateFeedStore } from "../testing/late-feed-storage.ts";
import { runFactor, runSeeds } from "../testing/run-scale.ts";
import { A1, EVERYWHERE, HOME, sample } from "../testing/samples.ts";
import { makeScratchDirectory } from "../testing/scratch-directory.ts";
import type { StorageBackend } from "../types.ts";
import type { WatchCacheOptions } from "./cache-options.ts";
import { type CachedStorage, createWatchCache } from "./watch-cache.ts";

// All resources of a workload are of one type. With little memory some stay in the engine.
const BOUNDS: readonly WatchCacheOptions[] = [{}, { resourceBytes: 1_100 }, { typeBytes: 9_000 }];

/** A cache that follows from the first call on, as the reads of a workload may come before its watches. */
async function following(
  storage: StorageBackend,
  options: WatchCacheOptions = {},
): Promise<CachedStorage> {
  const cache = createWatchCache(storage, options);
  (await cache.watchList(A1, EVERYWHERE, "")).close();
  return cache;
}

describe("random histories of a watch cache", { timeout: 60_000 * runFactor() }, () => {
  test("over memory break no rule", async () => {
    for (const [index, options] of BOUNDS.entries()) {
      for (const seed of runSeeds(2)) {
        await using storage = await following(createMemoryStorage(), options);
        const history = await runWorkload({ instances: [storage], seed, watches: 4 });
        expect(checkHistory(history), `seed ${seed}, bounds ${index}`).toEqual([]);
        expect(storage.cacheStatistics().hits.watch).toBeGreaterThan(0);
      }
    }
  });

  test("over sqlite break no rule", async () => {
    for (const seed of runSeeds(2)) {
      await using scratch = await makeScratchDirectory();
      await using storage = await following(await createSqliteStorage({ directory: scratch.path }));
      const history = await runWorkload({ instances: [storage], seed, watches: 4 });
      expect(checkHistory(history), `seed ${seed}`).toEqual([]);
      expect(storage.cacheStatistics().hits.read).toBeGreaterThan(100);
    }
  });

  test("over instances that learn of commits late break no rule", async () => {
    for (const [index, options] of BOUNDS.entries()) {
      for (const seed of runSeeds(2)) {
        const store = new LateFeedStore(seed, 3);
        await using one = await following(store.open(), options);
        await using other = await following(store.open(), options);
        const history = await runWorkload({
          instances: [one, other],
          seed,
          watches: 4,
          operations: 400,
        });
        expect(checkHistory(history), `seed ${seed}, bounds ${index}`).toEqual([]);
        expect(one.cacheStatistics().hits.watch).toBeGreaterThan(0);
      }
    }
  });
});

describe("lists from memory", () => {
  test("never show a batch in half, where it comes to the cache in parts", async () => {
    for (const seed of runSeeds(2)) {
      const store = new LateFeedStore(seed, 2);
      await using cache = await following(store.open());
      await using writer = store.open();
      let pair = await writer.batch([
        { kind: "write", resource: sample(A1, HOME, "left") },
        { kind: "write", resource: sample(A1, HOME, "right") },
      ]);
      const writing = (async () => {
        for (let count = 0; count < 60; count += 1) {
          const generation = `g${count}`;
          pair = await writer.batch(
            pair.map((resource) => ({
              kind: "write" as const,
              resource: { ...(resource as NonNullable<typeof resource>), generation },
            })),
          );
          await new Promise((resolve) => setTimeout(resolve, count % 3));
        }
      })();
      const state = { running: true };
      void writing.finally(() => {
        state.running = false;
      });
      while (state.running) {
        for (const consistency of ["eventual", "strong"] as const) {
          const [left, right] = await cache.list(consistency, A1, HOME, "");
          expect(left?.generation, consistency).toBe(right?.generation);
        }
        using watch = await cache.watchList(A1, HOME, "", { endOfSnapshot: true });
        const generations: string[] = [];
        for (let event = await watch.next(); "resource" in event; event = await watch.next()) {
          generations.push(event.resource.generation);
        }
        expect(generations[0]).toBe(generations[1]);
      }
      await writing;
      await cache.list("strong", A1, HOME, "");
      expect(cache.cacheStatistics().hits.list).toBeGreaterThan(0);
    }
  });
});

test("own writes are in every eventual answer after them, however late the instance learns of commits", async () => {
  const store = new LateFeedStore(1, 20);
  await using storage = createWatchCache(store.open());
  using watch = await storage.watchList(A1, HOME, "", { endOfSnapshot: true });
  await watch.next();
  let stored = await storage.writeCAS(sample(A1, HOME, "web"));
  for (let count = 0; count < 20; count += 1) {
    stored = await storage.writeCAS(stored);
    expect((await storage.read("eventual", stored.id)).version).toBe(stored.version);
    const [listed] = await storage.list("eventual", A1, HOME, "");
    expect(listed?.version).toBe(stored.version);
  }
  await storage.deleteCAS(stored.id, stored.version);
  expect(await storage.list("eventual", A1, HOME, "")).toEqual([]);
  const [again] = await storage.batch([{ kind: "write", resource: sample(A1, HOME, "web") }]);
  const [listed] = await storage.list("eventual", A1, HOME, "");
  expect(listed?.version).toBe(again?.version);
  expect(storage.cacheStatistics().hits.list).toBeGreaterThan(0);
});

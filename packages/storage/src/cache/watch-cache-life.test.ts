import { describe, expect, test } from "vitest";
import { createMemoryStorage } from "../engine/memory.ts";
import { assertCode } from "../testing/assertions.ts";
import { A1, EVERYWHERE, HOME, sample } from "../testing/samples.ts";
import type { Watch } from "../types.ts";
import { createWatchCache } from "./watch-cache.ts";

async function readToTheEnd(watch: Watch): Promise<never> {
  for (;;) await watch.next();
}

describe("a watch cache", () => {
  test("that is closed while a watch opens leaves none behind", async () => {
    for (let turns = 0; turns < 12; turns += 1) {
      const cache = createWatchCache(createMemoryStorage());
      await cache.writeCAS(sample(A1, HOME, "web"));
      const opening = cache.watchList(A1, EVERYWHERE, "").catch(() => undefined);
      for (let turn = 0; turn < turns; turn += 1) await Promise.resolve();
      const closing = cache.close();
      const watch = await opening;
      await closing;
      if (watch !== undefined) await assertCode(readToTheEnd(watch), "STORAGE_WATCH_CLOSED");
      expect(cache.cacheStatistics()).toMatchObject({ types: 0, watches: 0 });
    }
  });

  test("keeps no watch of a call that was given up while it opened", async () => {
    for (let turns = 0; turns < 12; turns += 1) {
      await using cache = createWatchCache(createMemoryStorage());
      const giving = new AbortController();
      const { signal } = giving;
      const opening = cache.watchList(A1, EVERYWHERE, "", { signal }).catch(() => undefined);
      for (let turn = 0; turn < turns; turn += 1) await Promise.resolve();
      giving.abort(new Error("given up"));
      const watch = await opening;
      expect(cache.cacheStatistics().watches).toBe(watch === undefined ? 0 : 1);
    }
  });

  test("follows a bounded number of types, and gives the others from the engine", async () => {
    await using cache = createWatchCache(createMemoryStorage());
    for (let count = 0; count < 300; count += 1) {
      (await cache.watchList({ group: "g", kind: `k${count}` }, EVERYWHERE, "")).close();
    }
    expect(cache.cacheStatistics()).toMatchObject({
      types: 256,
      hits: { watch: 256 },
      misses: { watch: 44 },
    });
  });
});

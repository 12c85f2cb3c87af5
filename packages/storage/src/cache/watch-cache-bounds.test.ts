import { describe, expect, test } from "vitest";
import { createMemoryStorage } from "../engine/memory.ts";
import { createSqliteStorage } from "../engine/sqlite.ts";
import { StorageError } from "../errors.ts";
import type { Resource, Tenancy, UnversionedType } from "../resource.ts";
import {
  assertCode,
  assertSame,
  assertSameSet,
  nextEvent,
  nextUpsert,
} from "../testing/assertions.ts";
import { DelegatingStorage } from "../testing/delegate.ts";
import { LaggingStorage } from "../testing/lagging-storage.ts";
import { A1, B1, EVERYWHERE, HOME, sample, sampleId } from "../testing/samples.ts";
import { makeScratchDirectory } from "../testing/scratch-directory.ts";
import type { ReadConsistency, StorageBackend, Watch, WatchOptions } from "../types.ts";
import { createWatchCache } from "./watch-cache.ts";

/** Counts what comes to the engine. */
class CountedStorage extends DelegatingStorage {
  readonly calls = { read: 0, list: 0, watch: 0 };

  override read(...call: Parameters<StorageBackend["read"]>): Promise<Resource> {
    this.calls.read += 1;
    return super.read(...call);
  }

  override list(
    consistency: ReadConsistency,
    type: UnversionedType,
    tenancy: Tenancy,
    prefix: string,
  ): Promise<readonly Resource[]> {
    this.calls.list += 1;
    return super.list(consistency, type, tenancy, prefix);
  }

  override watchList(
    type: UnversionedType,
    tenancy: Tenancy,
    prefix: string,
    options?: WatchOptions,
  ): Promise<Watch> {
    this.calls.watch += 1;
    return super.watchList(type, tenancy, prefix, options);
  }
}

function bytes(count: number): NonNullable<Resource["data"]> {
  return { typeUrl: "example.test/Bytes", value: new Uint8Array(count).fill(7) };
}

describe("a watch cache", () => {
  test("opens one watch of the engine for any number of watches and reads", async () => {
    const engine = new CountedStorage(createMemoryStorage());
    await using cache = createWatchCache(engine);
    const stored = await cache.writeCAS(sample(A1, HOME, "web"));
    const watches = await Promise.all(
      Array.from({ length: 200 }, (_, index) =>
        cache.watchList(A1, index % 2 === 0 ? HOME : EVERYWHERE, index % 3 === 0 ? "w" : ""),
      ),
    );
    for (const watch of watches) assertSame(await nextUpsert(watch), stored);
    const next = await cache.writeCAS(stored);
    for (const watch of watches) assertSame(await nextUpsert(watch), next);
    assertSame(await cache.read("strong", next.id), next);
    assertSame(await cache.read("eventual", next.id), next);
    assertSameSet(await cache.list("strong", A1, HOME, ""), [next]);
    await assertCode(cache.read("strong", sampleId(A1, HOME, "none")), "STORAGE_NOT_FOUND");
    expect(engine.calls).toEqual({ read: 0, list: 0, watch: 1 });
    expect(cache.cacheStatistics()).toMatchObject({
      types: 1,
      resources: 1,
      watches: 200,
      hits: { read: 3, list: 1, watch: 200 },
      misses: { read: 0, list: 0, watch: 0 },
    });
  });

  test("leaves to the engine what nothing watches", async () => {
    const engine = new CountedStorage(createMemoryStorage());
    await using cache = createWatchCache(engine);
    const stored = await cache.writeCAS(sample(B1, HOME, "web"));
    using _ = await cache.watchList(A1, HOME, "");
    assertSame(await cache.read("eventual", stored.id), stored);
    await cache.list("eventual", B1, HOME, "");
    expect(engine.calls).toEqual({ read: 1, list: 1, watch: 1 });
  });

  test("leaves large resources in the engine, and delivers them all the same", async () => {
    const engine = new CountedStorage(createMemoryStorage());
    await using cache = createWatchCache(engine, { resourceBytes: 10_000 });
    using all = await cache.watchList(A1, HOME, "");
    const small = await cache.writeCAS(sample(A1, HOME, "small"));
    const large = await cache.writeCAS(sample(A1, HOME, "large", { data: bytes(20_000) }));
    assertSame(await nextUpsert(all), small);
    assertSame(await nextUpsert(all), large);
    assertSame(await cache.read("strong", large.id), large);
    assertSame(await cache.read("strong", small.id), small);
    assertSameSet(await cache.list("strong", A1, HOME, ""), [small, large]);
    assertSameSet(await cache.list("strong", A1, HOME, "s"), [small]);
    expect(engine.calls).toEqual({ read: 1, list: 1, watch: 1 });
    using whole = await cache.watchList(A1, HOME, "", { endOfSnapshot: true });
    const first = [await nextUpsert(whole), await nextUpsert(whole)];
    assertSameSet(first, [small, large]);
    expect(engine.calls.watch).toBe(2);
    using part = await cache.watchList(A1, HOME, "s");
    assertSame(await nextUpsert(part), small);
    expect(engine.calls.watch).toBe(2);
    expect(cache.cacheStatistics().bytes).toBeLessThan(5_000);
    const shrunk = await cache.writeCAS({ ...large, data: bytes(10) });
    assertSame(await cache.read("strong", large.id), shrunk);
    expect(engine.calls.read).toBe(1);
  });

  test("gives a type up that outgrows its bound, without an event lost", async () => {
    const engine = new CountedStorage(createMemoryStorage());
    await using cache = createWatchCache(engine, { typeBytes: 20_000 });
    using watch = await cache.watchList(A1, HOME, "");
    const written: Resource[] = [];
    for (let count = 0; count < 40; count += 1) {
      written.push(await cache.writeCAS(sample(A1, HOME, `n${count}`, { data: bytes(1_000) })));
    }
    for (const resource of written) assertSame(await nextUpsert(watch), resource);
    expect(cache.cacheStatistics()).toMatchObject({ refused: 1, bytes: 0, watches: 1 });
    assertSameSet(await cache.list("strong", A1, HOME, ""), written);
    using other = await cache.watchList(A1, HOME, "n39");
    assertSame(await nextUpsert(other), written.at(-1) as Resource);
    expect(engine.calls).toEqual({ read: 0, list: 1, watch: 2 });
    // The watch that it has goes on.
    const next = await cache.writeCAS(written[0] as Resource);
    assertSame(await nextUpsert(watch), next);
  });

  test("does not hold a type that is too large from the beginning, and tries it again later", async () => {
    let nowMs = 0;
    const clock = {
      monotonicMs: () => nowMs,
      wallMs: () => nowMs,
      after: (delayMs: number, task: () => void) => {
        const timer = setTimeout(task, delayMs);
        return { [Symbol.dispose]: () => clearTimeout(timer) };
      },
    };
    const engine = new CountedStorage(createMemoryStorage());
    await using cache = createWatchCache(engine, { totalBytes: 20_000, retryMs: 1_000, clock });
    const written: Resource[] = [];
    for (let count = 0; count < 40; count += 1) {
      written.push(await cache.writeCAS(sample(A1, HOME, `n${count}`, { data: bytes(1_000) })));
    }
    (await cache.watchList(A1, HOME, "")).close();
    expect(engine.calls.watch).toBe(2);
    (await cache.watchList(A1, HOME, "")).close();
    expect(engine.calls.watch).toBe(3);
    expect(cache.cacheStatistics()).toMatchObject({ types: 0, refused: 1 });
    for (const { id, version } of written.slice(1)) await cache.deleteCAS(id, version);
    nowMs = 2_000;
    using watch = await cache.watchList(A1, HOME, "");
    assertSame(await nextUpsert(watch), written[0] as Resource);
    expect(cache.cacheStatistics()).toMatchObject({ types: 1, refused: 0, hits: { watch: 1 } });
  });

  test("drops a type that nothing uses", { timeout: 90_000 }, async () => {
    await using cache = createWatchCache(createMemoryStorage(), { idleMs: 20 });
    (await cache.watchList(A1, HOME, "")).close();
    expect(cache.cacheStatistics().hits.watch).toBe(1);
    await expect.poll(() => cache.cacheStatistics().types, { timeout: 60_000 }).toBe(0);
    using watch = await cache.watchList(A1, HOME, "");
    const stored = await cache.writeCAS(sample(A1, HOME, "web"));
    assertSame(await nextUpsert(watch), stored);
  });

  test("resumes from memory behind its own cursors, and from the engine behind older ones", async () => {
    const engine = new CountedStorage(createMemoryStorage());
    await using cache = createWatchCache(engine, { history: { events: 3 } });
    using watch = await cache.watchList(A1, HOME, "", { endOfSnapshot: true });
    const cursors = [(await nextEvent(watch)).cursor];
    let stored = await cache.writeCAS(sample(A1, HOME, "web"));
    for (let count = 0; count < 6; count += 1) {
      cursors.push((await nextEvent(watch)).cursor);
      stored = await cache.writeCAS(stored);
    }
    using recent = await cache.watchList(A1, HOME, "", { resumeAfter: cursors.at(-1) });
    assertSame(await nextUpsert(recent), stored);
    expect(engine.calls.watch).toBe(1);
    using old = await cache.watchList(A1, HOME, "", { resumeAfter: cursors[0] });
    expect((await nextUpsert(old)).version).toBe("1");
    expect(engine.calls.watch).toBe(2);
  });

  test("passes bookmarks on, behind which watches resume", async () => {
    const watchBuffer = { bookmarkMs: 5 };
    await using cache = createWatchCache(createMemoryStorage({ watchBuffer }), { watchBuffer });
    using watch = await cache.watchList(A1, HOME, "none", { bookmarks: true });
    await cache.writeCAS(sample(B1, HOME, "other"));
    const event = await nextEvent(watch);
    expect(event.operation).toBe("bookmark");
    using resumed = await cache.watchList(A1, HOME, "", { resumeAfter: event.cursor });
    const stored = await cache.writeCAS(sample(A1, HOME, "web"));
    assertSame(await nextUpsert(resumed), stored);
  });

  test("ends its watches with those of the engine, and begins again", async () => {
    await using cache = createWatchCache(createMemoryStorage());
    using watch = await cache.watchList(A1, HOME, "");
    await cache.writeCAS(sample(A1, HOME, "before"));
    const restored = { ...sample(A1, HOME, "after"), version: "70" };
    await using restore = await cache.restore();
    await restore.apply(restored);
    await restore.commit();
    await assertCode(
      (async () => {
        for (;;) await nextEvent(watch);
      })(),
      "STORAGE_WATCH_CLOSED",
    );
    assertSameSet(await cache.list("eventual", A1, HOME, ""), [restored]);
    using again = await cache.watchList(A1, HOME, "");
    assertSame(await nextUpsert(again), restored);
    assertSameSet(await cache.list("eventual", A1, HOME, ""), [restored]);
  });

  test("passes everything on over an engine whose watches cannot be followed", async () => {
    const engine = new CountedStorage(new LaggingStorage(1, 1));
    await using cache = createWatchCache(engine);
    const stored = await cache.writeCAS(sample(A1, HOME, "web"));
    for (let count = 0; count < 3; count += 1) {
      using watch = await cache.watchList(A1, HOME, "");
      assertSame(await nextUpsert(watch), stored);
    }
    // The first was tried as well.
    expect(engine.calls.watch).toBe(4);
    assertSame(await cache.read("strong", stored.id), stored);
    expect(cache.cacheStatistics()).toMatchObject({ types: 0, hits: { read: 0, watch: 0 } });
  });

  test("lets the engine say what is wrong with it", async () => {
    class Failing extends DelegatingStorage {
      override async watchList(): Promise<Watch> {
        throw new StorageError("STORAGE_INCONSISTENT", "the database is away");
      }
    }
    await using cache = createWatchCache(new Failing(createMemoryStorage()));
    await expect(cache.watchList(A1, HOME, "")).rejects.toThrow("the database is away");
  });

  test("does not starve what a caller waits for that asks again and again", {
    timeout: 90_000,
  }, async () => {
    await using scratch = await makeScratchDirectory();
    await using cache = createWatchCache(await createSqliteStorage({ directory: scratch.path }));
    using _ = await cache.watchList(A1, HOME, "");
    const state = { waiting: true };
    setTimeout(() => {
      state.waiting = false;
    }, 20);
    while (state.waiting) await cache.list("eventual", A1, HOME, "");
    const writing = cache.writeCAS(sample(A1, HOME, "web"));
    while ((await cache.list("strong", A1, HOME, "")).length === 0);
    await writing;
  });

  test("refuses bounds that are none", () => {
    const storage = createMemoryStorage();
    expect(() => createWatchCache(storage, { typeBytes: -1 })).toThrow("typeBytes");
    expect(() => createWatchCache(storage, { totalBytes: Number.NaN })).toThrow("totalBytes");
  });

  test("gives up a call whose signal aborts, and refuses those after the close", async () => {
    const cache = createWatchCache(createMemoryStorage());
    using watch = await cache.watchList(A1, HOME, "");
    const signal = AbortSignal.abort(new Error("given up"));
    await expect(cache.list("eventual", A1, HOME, "", { signal })).rejects.toThrow("given up");
    await expect(cache.watchList(A1, HOME, "", { signal })).rejects.toThrow("given up");
    await cache.close();
    await assertCode(watch.next(), "STORAGE_WATCH_CLOSED");
    await assertCode(cache.list("eventual", A1, HOME, ""), "STORAGE_INCONSISTENT");
    await assertCode(cache.watchList(A1, HOME, ""), "STORAGE_INCONSISTENT");
  });
});

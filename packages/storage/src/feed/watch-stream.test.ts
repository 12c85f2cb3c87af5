import { describe, expect, test } from "vitest";
import { createMemoryStorage } from "../engine/memory.ts";
import { StorageError } from "../errors.ts";
import { assertCode, assertQuiet, nextUpsert } from "../testing/assertions.ts";
import { A1, HOME, sample } from "../testing/samples.ts";
import type { WatchEvent } from "../types.ts";
import type { Commit } from "./commit.ts";
import { CommitLog } from "./commit-log.ts";
import { EventFeed } from "./event-feed.ts";
import { resolveWatchBuffer, type WatchPrologue, WatchStream } from "./watch-stream.ts";

const commit = (revision: number): Commit => ({
  revision,
  operation: "upsert",
  resource: sample(A1, HOME, `r${revision}`, { version: String(revision) }),
});

function stream(events = 10): { stream: WatchStream; released: () => number } {
  let count = 0;
  const made = new WatchStream({ events, bytes: 1024 * 1024, bookmarkMs: 1 }, () => {
    count += 1;
  });
  return { stream: made, released: () => count };
}

/** A prologue whose pages arrive when the test says so. */
function slowPrologue(revision: number) {
  const pages: ((events: readonly WatchEvent[] | undefined) => void)[] = [];
  const failures: ((error: Error) => void)[] = [];
  const state = { closed: 0 };
  const prologue: WatchPrologue = {
    revision,
    nextPage: () =>
      new Promise((resolve, reject) => {
        pages.push(resolve);
        failures.push(reject);
      }),
    close: () => {
      state.closed += 1;
    },
  };
  return { prologue, pages, failures, state };
}

describe("a watch stream", () => {
  test("drops what the prologue contains and delivers what came while it was fetched", async () => {
    const { stream: watch } = stream();
    for (const revision of [1, 2, 3, 4]) watch.push(commit(revision));
    await assertQuiet(watch, 5);
    const { prologue, pages } = slowPrologue(2);
    watch.start(prologue);
    const first = nextUpsert(watch);
    pages.shift()?.([{ operation: "upsert", resource: commit(2).resource }]);
    expect((await first).version).toBe("2");
    const second = nextUpsert(watch);
    pages.shift()?.(undefined);
    expect((await second).version).toBe("3");
    expect((await nextUpsert(watch)).version).toBe("4");
    // A feed that lags behind the prologue delivers old commits afterwards.
    watch.push(commit(2));
    watch.push(commit(5));
    expect((await nextUpsert(watch)).version).toBe("5");
  });

  test("keeps a page that arrives after its next was aborted", async () => {
    const { stream: watch } = stream();
    const { prologue, pages } = slowPrologue(1);
    watch.start(prologue);
    const reason = new Error("enough");
    const aborting = new AbortController();
    const pending = watch.next({ signal: aborting.signal });
    aborting.abort(reason);
    await expect(pending).rejects.toBe(reason);
    pages.shift()?.([{ operation: "upsert", resource: commit(1).resource }]);
    expect((await nextUpsert(watch)).version).toBe("1");
  });

  test("ends as WatchClosed when its prologue fails, and frees it", async () => {
    const { stream: watch, released } = stream();
    const { prologue, failures, state } = slowPrologue(1);
    watch.start(prologue);
    const pending = assertCode(watch.next(), "STORAGE_WATCH_CLOSED");
    failures.shift()?.(new Error("the connection broke"));
    await pending;
    expect(state.closed).toBe(1);
    expect(released()).toBe(1);
    const broken = stream();
    broken.stream.start({
      revision: 0,
      nextPage: () => {
        throw new Error("at once");
      },
      close: () => undefined,
    });
    await assertCode(broken.stream.next(), "STORAGE_WATCH_CLOSED");
  });

  test("frees a prologue that comes after it was closed", () => {
    const { stream: watch, released } = stream();
    watch.close();
    const { prologue, state } = slowPrologue(1);
    watch.start(prologue);
    expect(state.closed).toBe(1);
    watch.close();
    watch.fail(new StorageError("STORAGE_WATCH_CLOSED"));
    expect(released()).toBe(1);
  });

  test("bounds what it buffers by number and by bytes", async () => {
    const { stream: few } = stream(3);
    for (const revision of [1, 2, 3, 4]) few.push(commit(revision));
    await assertCode(few.next(), "STORAGE_WATCH_CLOSED");

    const large = new WatchStream({ events: 10, bytes: 100_000, bookmarkMs: 1 }, () => undefined);
    const data = { typeUrl: "t", value: new Uint8Array(60_000) };
    large.push({ ...commit(1), resource: { ...commit(1).resource, data } });
    large.push({ ...commit(2), resource: { ...commit(2).resource, data } });
    await assertCode(large.next(), "STORAGE_WATCH_CLOSED");
  });

  test("does not bound what passes through", async () => {
    const { stream: watch } = stream(3);
    watch.start({ revision: 0, nextPage: () => undefined, close: () => undefined });
    for (let revision = 1; revision <= 1_000; revision += 1) {
      watch.push(commit(revision));
      expect((await nextUpsert(watch)).version).toBe(String(revision));
    }
  });
});

describe("the feed", () => {
  test("is back where it was after ten thousand watches", async () => {
    const feed = new EventFeed(resolveWatchBuffer());
    for (let count = 0; count < 10_000; count += 1) {
      const filter = { type: A1, tenancy: HOME, namePrefix: String(count % 50) };
      const watch = feed.open(filter);
      if (count % 2 === 0) watch.close();
      else watch.fail(new StorageError("STORAGE_WATCH_CLOSED"));
    }
    expect(feed.size).toBe(0);
    await using storage = createMemoryStorage();
    const before = process.memoryUsage().heapUsed;
    for (let count = 0; count < 10_000; count += 1) {
      using _ = await storage.watchList(A1, HOME, `p${count}`);
    }
    globalThis.gc?.();
    expect(process.memoryUsage().heapUsed - before).toBeLessThan(64 * 1024 * 1024);
  });
});

describe("the commit log", () => {
  test("gives what came after a revision while it is retained", () => {
    const log = new CommitLog({ events: 5 });
    for (let revision = 1; revision <= 20; revision += 1) log.push(commit(revision));
    expect(log.compacted).toBe(15);
    expect(log.since(14)).toBeUndefined();
    expect(log.since(15)?.map((one) => one.revision)).toEqual([16, 17, 18, 19, 20]);
    expect(log.since(18)?.map((one) => one.revision)).toEqual([19, 20]);
    expect(log.since(20)).toEqual([]);
    log.compact(18);
    expect(log.since(17)).toBeUndefined();
    expect(log.since(18)?.map((one) => one.revision)).toEqual([19, 20]);
  });

  test("is bounded by bytes as well", () => {
    const log = new CommitLog({ bytes: 10_000 });
    for (let revision = 1; revision <= 100; revision += 1) log.push(commit(revision));
    expect(log.compacted).toBeGreaterThan(80);
    expect(log.since(100)).toEqual([]);
  });
});

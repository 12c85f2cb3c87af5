import { describe, expect, test } from "vitest";
import type { StorageCapabilities } from "../capabilities.ts";
import { createMemoryStorage } from "../engine/memory.ts";
import { DelegatingStorage } from "../testing/delegate.ts";
import { A1, HOME, payload, sample } from "../testing/samples.ts";
import type { StorageBackend } from "../types.ts";
import { listBehind, listPages, listResourceHeads, listResources } from "./list-pages.ts";
import { toHead } from "./resource-head.ts";

class Unpaged extends DelegatingStorage {
  override get capabilities(): StorageCapabilities {
    return { ...this.inner.capabilities, pagedList: false };
  }
}

async function start() {
  const storage = createMemoryStorage();
  const stored = [];
  for (const name of ["a", "b", "c"]) {
    stored.push(await storage.writeCAS(sample(A1, HOME, name, { data: payload(name) })));
  }
  return { storage, stored };
}

async function collect<T>(from: AsyncIterable<T>): Promise<readonly T[]> {
  const all: T[] = [];
  for await (const one of from) all.push(one);
  return all;
}

describe.each([1, 2, 3, 4])("a list in pages of %i", (limit) => {
  test("gives every resource and every head once", async () => {
    const { storage, stored } = await start();
    await using _ = storage;
    const pages = await collect(listPages(storage, "strong", A1, HOME, "", { limit }));
    expect(pages.map((page) => page.length)).toEqual(
      { 1: [1, 1, 1], 2: [2, 1], 3: [3], 4: [3] }[limit],
    );
    expect(pages.flat()).toEqual(stored);
    expect(await collect(listResources(storage, "strong", A1, HOME, "", { limit }))).toEqual(
      stored,
    );
    expect(await collect(listResourceHeads(storage, "strong", A1, HOME, "", { limit }))).toEqual(
      stored.map(toHead),
    );
  });
});

test.each([
  [1, "", ["a"], true],
  [2, "", ["a", "b"], true],
  [3, "", ["a", "b", "c"], false],
  [4, "", ["a", "b", "c"], false],
  [2, "a", ["b", "c"], false],
  [1, "a", ["b"], true],
  [1, "aa", ["b"], true],
  [1, "c", [], false],
] as const)("the first %i behind %j are %j", async (limit, after, names, hasMore) => {
  const storage = createMemoryStorage();
  await using _ = storage;
  for (const name of ["c", "a", "b"]) await storage.writeCAS(sample(A1, HOME, name));
  const found = await listBehind(storage, A1, HOME, "", { limit, after });
  expect(found.resources.map(({ id }) => id.name)).toEqual(names);
  expect(found.hasMore).toBe(hasMore);
});

test("an engine without pages gives the same in one", async () => {
  const { storage, stored } = await start();
  await using unpaged = new Unpaged(storage);
  expect(await collect(listPages(unpaged, "strong", A1, HOME, "", { limit: 1 }))).toEqual([stored]);
  expect(await collect(listResourceHeads(unpaged, "strong", A1, HOME, "", { limit: 1 }))).toEqual(
    stored.map(toHead),
  );
});

test("an engine without pages notifies of what is damaged, as one with pages does", async () => {
  const { storage } = await start();
  const notified: unknown[] = [];
  class Damaged extends Unpaged {
    override list(
      ...query: Parameters<StorageBackend["list"]>
    ): ReturnType<StorageBackend["list"]> {
      notified.push(query[4]?.onDamaged);
      return super.list(...query);
    }
  }
  await using damaged = new Damaged(storage);
  const onDamaged = (): void => undefined;
  await collect(listPages(damaged, "strong", A1, HOME, "", { onDamaged }));
  await collect(listResourceHeads(damaged, "strong", A1, HOME, "", { onDamaged }));
  expect(notified).toEqual([onDamaged, onDamaged]);
});

import type { Resource, StorageBackend, Watch } from "@stackwright/storage";
import { createMemoryStorage } from "@stackwright/storage/memory";
import { watchLatency } from "./latency.ts";
import { compare, type Effort, type Operation } from "./measure.ts";
import { printResults, printTable, whole } from "./report.ts";
import { benchResource, SCOPE } from "./resources.ts";

/** Sizes that show how costs grow. */
const SIZES = [1_000, 10_000, 100_000, 1_000_000];

/** Small, so that a million fits. */
const SMALL_BYTES = 64;

/** Rates, growth and memory of the memory engine; gives its row of the latency table. */
export async function benchMemory(effort: Effort): Promise<string[]> {
  await benchGrowth(effort);
  await benchWatchers(effort);
  await benchMemoryUse();
  await using storage = createMemoryStorage();
  return await watchLatency(storage, 2_000);
}

/** Writes and prefix lists as the store grows. */
async function benchGrowth(effort: Effort): Promise<void> {
  const stores: StorageBackend[] = [];
  try {
    const writes = [];
    const lists = [];
    for (const size of SIZES) {
      const storage = createMemoryStorage();
      stores.push(storage);
      const held = await fill(storage, size);
      writes.push({ name: `CAS in ${whole(size)} resources`, operation: update(storage, held) });
      const { type, tenancy } = SCOPE;
      if (size < 10_000) continue;
      // Names start with the number of their group of 10,000 (see nameOf).
      lists.push({
        name: `list 10,000 of ${whole(size)} by prefix`,
        operation: async () => {
          const found = await storage.list("eventual", type, tenancy, "group-0000-");
          if (found.length !== 10_000) throw new Error(`listed ${found.length}`);
        },
      });
    }
    printResults(`memory, ${SMALL_BYTES} bytes of data`, await compare(writes, effort));
    printResults("memory, lists", await compare(lists, effort));
  } finally {
    for (const storage of stores) await storage.close();
  }
}

/** What a commit costs beside watchers that do and do not match. */
async function benchWatchers(effort: Effort): Promise<void> {
  const subjects = [];
  const open: Disposable[] = [];
  for (const [name, watchers, matching] of [
    ["no watcher", 0, false],
    ["1 watcher, matching", 1, true],
    ["1,000 watchers, 1 matching", 1_000, false],
    ["1,000 watchers, 100 matching", 100, true],
    ["1,000 watchers, all matching", 1_000, true],
  ] as const) {
    const storage = createMemoryStorage();
    const { type, tenancy } = SCOPE;
    const total = name.startsWith("1,000") ? 1_000 : watchers;
    for (let index = 0; index < total; index += 1) {
      const same = matching ? index < watchers : index === 0;
      const prefix = same ? "watched" : `other-${index}-`;
      const watch = await storage.watchList(type, tenancy, prefix);
      open.push(watch);
      if (same) void drain(watch);
    }
    let stored = await storage.writeCAS(benchResource("watched", SMALL_BYTES));
    subjects.push({
      name,
      operation: async () => {
        stored = await storage.writeCAS(stored);
      },
    });
  }
  printResults("memory, CAS beside watchers", await compare(subjects, effort));
  for (const watch of open) watch[Symbol.dispose]();
}

async function drain(watch: Watch): Promise<void> {
  for await (const _ of watch);
}

async function benchMemoryUse(): Promise<void> {
  const { gc } = globalThis;
  if (gc === undefined) {
    console.log("\nmemory per resource: run with --expose-gc");
    return;
  }
  const count = 100_000;
  const rows: string[][] = [];
  // All are kept until the end, so that none is collected while the next one is measured.
  const kept: StorageBackend[] = [];
  for (const bytes of [0, SMALL_BYTES, 1_024]) {
    gc();
    const before = process.memoryUsage();
    const storage = createMemoryStorage({ history: { events: 0 } });
    await fill(storage, count, bytes);
    gc();
    const after = process.memoryUsage();
    const used = after.heapUsed + after.external - before.heapUsed - before.external;
    rows.push([`${bytes}`, whole(used / count)]);
    kept.push(storage);
  }
  printTable(
    `memory per resource, ${whole(count)} resources`,
    ["bytes of data", "bytes per resource"],
    rows,
  );
  for (const storage of kept) await storage.close();
}

/** Stores resources in groups of 10,000 names, written in no order. */
async function fill(
  storage: StorageBackend,
  size: number,
  bytes = SMALL_BYTES,
): Promise<readonly Resource[]> {
  const held: Resource[] = [];
  for (let index = 0; index < size; index += 1) {
    // A step that shares no factor with the size visits every number once.
    const number = (index * 7_919) % size;
    const stored = await storage.writeCAS(benchResource(nameOf(number), bytes));
    if (held.length < 1_000) held.push(stored);
  }
  return held;
}

function nameOf(number: number): string {
  const group = String(Math.floor(number / 10_000)).padStart(4, "0");
  return `group-${group}-object-${number}`;
}

function update(storage: StorageBackend, held: readonly Resource[]): Operation {
  const resources = [...held];
  return async (_, count) => {
    const index = (count * 7_919) % resources.length;
    resources[index] = await storage.writeCAS(resources[index] as Resource);
  };
}

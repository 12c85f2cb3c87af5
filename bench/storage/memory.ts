import type { Resource, StorageBackend, Watch } from "@stackwright/storage";
import { createMemoryStorage } from "@stackwright/storage/memory";
import { watchLatency } from "./latency.ts";
import { compare, type Effort, type Operation, type Subject } from "./measure.ts";
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
  const writes: Subject[] = [];
  const scattered = await growingStores(false);
  for (const { storage, size, held } of scattered) {
    writes.push({ name: `CAS in ${whole(size)} resources`, operation: update(storage, held) });
  }
  printResults(`memory, ${SMALL_BYTES} bytes of data`, await compare(writes, effort));
  printResults(
    "memory, lists of resources that were written between all others",
    await compare(lists(scattered), effort),
  );
  await closeAll(scattered);

  // In memory the resources of a list then lie together, as the memory's own speed has its part.
  const together = await growingStores(true);
  printResults(
    "memory, lists of resources that were written one after the other",
    await compare(lists(together), effort),
  );
  await closeAll(together);
}

interface FilledStore {
  readonly storage: StorageBackend;
  readonly size: number;
  readonly held: readonly Resource[];
}

async function growingStores(inOrder: boolean): Promise<FilledStore[]> {
  const stores: FilledStore[] = [];
  for (const size of SIZES) {
    const storage = createMemoryStorage();
    stores.push({ storage, size, held: await fill(storage, size, { inOrder }) });
  }
  return stores;
}

async function closeAll(stores: FilledStore[]): Promise<void> {
  for (const { storage } of stores.splice(0)) await storage.close();
}

function lists(stores: readonly FilledStore[]): Subject[] {
  const { type, tenancy } = SCOPE;
  return stores
    .filter(({ size }) => size >= 10_000)
    .map(({ storage, size }) => ({
      name: `list 10,000 of ${whole(size)} by prefix`,
      operation: async () => {
        // Names start with the number of their group of 10,000 (see nameOf).
        const found = await storage.list("eventual", type, tenancy, "group-0000-");
        if (found.length !== 10_000) throw new Error(`listed ${found.length}`);
      },
    }));
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
    await fill(storage, count, { bytes });
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

/** Stores resources in groups of 10,000 names, one group after the other or all mixed. */
async function fill(
  storage: StorageBackend,
  size: number,
  { bytes = SMALL_BYTES, inOrder = false }: { bytes?: number; inOrder?: boolean } = {},
): Promise<readonly Resource[]> {
  const held: Resource[] = [];
  for (let index = 0; index < size; index += 1) {
    // A step that shares no factor with the size visits every number once.
    const number = inOrder ? index : (index * 7_919) % size;
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

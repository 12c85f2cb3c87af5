import { mkdtempDisposable } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  MAX_BATCH_OPERATIONS,
  type Resource,
  type StorageBackend,
  type Tenancy,
} from "@stackwright/storage";
import { createEtcdStorage } from "@stackwright/storage/etcd";
import { createMemoryStorage } from "@stackwright/storage/memory";
import { createPostgresStorage } from "@stackwright/storage/postgres";
import { createSqliteStorage } from "@stackwright/storage/sqlite";
import postgres from "postgres";
import { compare, type Effort, quantile, type Subject } from "./measure.ts";
import { fine, printResults, printTable, whole } from "./report.ts";

const MANY = { group: "bench", groupVersion: "v1", kind: "Many" };
/** Of another type, in as many namespaces as there are of it. */
const FEW = { group: "bench", groupVersion: "v1", kind: "Few" };

/** Resources of a namespace, and of the lists that are compared, whatever else is stored. */
const LISTED = 1_000;
const WITH_PREFIX = 100;
const ANYWHERE: Tenancy = { partition: "*", peerName: "*", namespace: "*" };

/** Small, so that a million fits. */
const BYTES = 64;

/** Batches at a time that fill a store. */
const WRITERS = 32;

/** Opens an empty store of an engine; disposing of it leaves nothing. */
type OpenStore = (disposal: AsyncDisposableStack) => Promise<StorageBackend>;

/** The engines that are there: those of servers need the addresses of these. */
function engines(env: NodeJS.ProcessEnv): ReadonlyMap<string, OpenStore> {
  const found = new Map<string, OpenStore>([
    ["memory", async (disposal) => disposal.use(createMemoryStorage())],
    [
      "sqlite",
      async (disposal) => {
        const scratch = disposal.use(await mkdtempDisposable(join(tmpdir(), "bench-lists-")));
        return disposal.use(await createSqliteStorage({ directory: scratch.path }));
      },
    ],
  ]);
  const { TEST_POSTGRES_URL: url, TEST_ETCD_CLUSTER_ENDPOINTS: endpoints } = env;
  if (url !== undefined) {
    found.set("PostgreSQL", async (disposal) => {
      const schema = `bench_lists_${process.pid}_${Date.now()}`;
      disposal.defer(async () => {
        const admin = postgres(url, { max: 1, onnotice: () => undefined });
        await admin`DROP SCHEMA IF EXISTS ${admin(schema)} CASCADE`;
        await admin.end();
      });
      return disposal.use(await createPostgresStorage({ url, schema }));
    });
  }
  if (endpoints !== undefined) {
    found.set("etcd", async (disposal) => {
      const root = `bench/${process.pid}/${Date.now()}/`;
      return disposal.use(await createEtcdStorage({ endpoints: endpoints.split(","), root }));
    });
  }
  return found;
}

interface FilledStore {
  readonly storage: StorageBackend;
  readonly size: number;
}

/** Lists of the same length in stores of `sizes` resources, one after the other, on each engine. */
export async function benchLists(
  effort: Effort,
  sizes: readonly number[],
  only: readonly string[] | undefined,
): Promise<void> {
  for (const [engine, open] of engines(process.env)) {
    if (only?.includes(engine) === false) continue;
    await using disposal = new AsyncDisposableStack();
    const stores: FilledStore[] = [];
    for (const size of sizes) {
      const storage = await open(disposal);
      await fill(storage, size);
      stores.push({ storage, size });
    }
    for (const { name, list } of LISTS) {
      const subjects = stores.map(
        ({ storage, size }): Subject => ({
          name: `in ${whole(size)} resources`,
          operation: async (_, count) => list(storage, size, count),
        }),
      );
      printResults(`${engine}, ${name}`, await compare(subjects, effort));
    }
    await printPages(engine, stores);
  }
}

const LISTS: readonly {
  readonly name: string;
  readonly list: (storage: StorageBackend, size: number, count: number) => Promise<void>;
}[] = [
  {
    name: `the ${LISTED} of a namespace`,
    list: async (storage, size, count) => {
      expect(await storage.list("eventual", MANY, homeOf(anyNamespace(size, count)), ""), LISTED);
    },
  },
  {
    name: `${WITH_PREFIX} of a namespace, by prefix`,
    list: async (storage, size, count) => {
      const home = homeOf(anyNamespace(size, count));
      expect(await storage.list("eventual", MANY, home, "row-3"), WITH_PREFIX);
    },
  },
  {
    name: `all ${LISTED} of a type, in all namespaces`,
    list: async (storage) => {
      expect(await storage.list("eventual", FEW, ANYWHERE, ""), LISTED);
    },
  },
];

/** Reads a whole type in pages: what those at its beginning and at its end cost. */
async function printPages(engine: string, stores: readonly FilledStore[]): Promise<void> {
  const rows: string[][] = [];
  for (const { storage, size } of stores) {
    const tookMs: number[] = [];
    let continueAfter: string | undefined;
    let began = performance.now();
    do {
      const options = { limit: LISTED, ...(continueAfter !== undefined && { continueAfter }) };
      const page = await storage.listPage("eventual", MANY, ANYWHERE, "", options);
      tookMs.push(performance.now() - began);
      began = performance.now();
      continueAfter = page.continuation;
    } while (continueAfter !== undefined);
    const tenth = Math.ceil(tookMs.length / 10);
    const [first, last] = [tookMs.slice(0, tenth), tookMs.slice(-tenth)].map((part) =>
      quantile(part, 0.5),
    ) as [number, number];
    const all = tookMs.reduce((sum, one) => sum + one, 0) / 1_000;
    rows.push([whole(size), all.toFixed(1), fine(first), fine(last), (last / first).toFixed(2)]);
  }
  printTable(
    `${engine}, all in pages of ${whole(LISTED)}`,
    ["resources", "all, s", "first tenth, p50 ms", "last tenth, p50 ms", "last / first"],
    rows,
  );
}

function expect(found: readonly Resource[], count: number): void {
  if (found.length !== count) throw new Error(`${found.length} listed, not ${count}`);
}

function anyNamespace(size: number, count: number): number {
  return (count * 7_919) % (size / LISTED);
}

function homeOf(namespace: number): Tenancy {
  const name = `n${String(namespace).padStart(4, "0")}`;
  return { partition: "default", peerName: "local", namespace: name };
}

/** Fills an empty store with `size` resources of one type in namespaces of 1,000, and with 1,000 of another in all of these. */
async function fill(storage: StorageBackend, size: number): Promise<void> {
  if (!storage.capabilities.restore) return fillInBatches(storage, size);
  await using restore = await storage.restore();
  for (let count = 0; count < size + LISTED; count += 1) await restore.apply(nth(size, count));
  await restore.commit();
}

/** The way to fill a store that takes no restore. */
async function fillInBatches(storage: StorageBackend, size: number): Promise<void> {
  let next = 0;
  const write = async (): Promise<void> => {
    while (next < size + LISTED) {
      const from = next;
      next = Math.min(size + LISTED, from + MAX_BATCH_OPERATIONS);
      await storage.batch(
        Array.from({ length: next - from }, (_, at) => ({
          kind: "write" as const,
          resource: { ...nth(size, from + at), version: "" },
        })),
      );
    }
  };
  await Promise.all(Array.from({ length: WRITERS }, write));
}

function nth(size: number, count: number): Resource {
  const few = count - size;
  if (few >= 0) return small(FEW, few % (size / LISTED), `few-${few}`);
  const name = `row-${String(count % LISTED).padStart(3, "0")}`;
  return small(MANY, Math.floor(count / LISTED), name);
}

function small(type: Resource["id"]["type"], namespace: number, name: string): Resource {
  return {
    id: { uid: "u", name, type, tenancy: homeOf(namespace) },
    version: "1",
    generation: "",
    metadata: {},
    status: {},
    data: { typeUrl: "bench/Row", value: new Uint8Array(BYTES) },
  };
}

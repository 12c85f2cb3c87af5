import { randomUUID } from "node:crypto";
import { describe, expect, test } from "vitest";
import { createEtcdStorage, ETCD_CAPABILITIES } from "../engine/etcd.ts";
import { createPostgresStorage, POSTGRES_CAPABILITIES } from "../engine/postgres.ts";
import { assertSameSet } from "../testing/assertions.ts";
import { runScenario } from "../testing/describe-storage.ts";
import type { OpenOptions, StorageHarness } from "../testing/harness.ts";
import { checkHistory } from "../testing/history/check-history.ts";
import { runWorkload } from "../testing/history/workload.ts";
import { compactEtcd, etcdClusters } from "../testing/live/etcd-servers.ts";
import { createSchema, postgresServers } from "../testing/live/postgres-servers.ts";
import { runFactor, runSeeds } from "../testing/run-scale.ts";
import { A1, EVERYWHERE, HOME, sample } from "../testing/samples.ts";
import { STORAGE_SCENARIOS } from "../testing/scenarios.ts";
import type { StorageBackend } from "../types.ts";
import { createWatchCache } from "./watch-cache.ts";

// What a cache has a part in; the whole suite runs over memory and sqlite, and here in the soak, over every server there is.
const IS_SOAK = runFactor() > 1;
const GROUPS = STORAGE_SCENARIOS.filter(
  ({ title }) => IS_SOAK || ["watchList beside writers", "watch resume"].includes(title),
);

/** A machine that is busy is no reason for the engine to answer. */
const WAIT_MS = 60_000;

interface Engine {
  readonly name: string;
  readonly capabilities: StorageBackend["capabilities"];
  readonly create: () => Promise<
    AsyncDisposable & {
      open(options?: OpenOptions): Promise<StorageBackend>;
      compact(storage: StorageBackend): Promise<void>;
    }
  >;
}

function servers<T>(all: readonly T[]): readonly T[] {
  return IS_SOAK ? all : all.slice(0, 1);
}

const ENGINES: readonly Engine[] = [
  ...servers(postgresServers()).map(({ name, url }) => ({
    name,
    capabilities: POSTGRES_CAPABILITIES,
    create: async () => {
      const schema = await createSchema(url);
      return {
        open: async (options?: OpenOptions) =>
          createPostgresStorage({ url, schema: schema.name, ...options }),
        compact: async (storage: StorageBackend) =>
          (storage as Awaited<ReturnType<typeof createPostgresStorage>>).compactHistory(),
        [Symbol.asyncDispose]: async () => schema.drop(),
      };
    },
  })),
  ...servers(etcdClusters()).map(({ name, endpoints }) => ({
    name,
    capabilities: ETCD_CAPABILITIES,
    create: async () => {
      const root = `test/${randomUUID()}/`;
      return {
        open: async ({ watchBuffer }: OpenOptions = {}) =>
          createEtcdStorage({ endpoints, root, ...(watchBuffer && { watchBuffer }) }),
        compact: async () => compactEtcd(endpoints),
        [Symbol.asyncDispose]: async () => undefined,
      };
    },
  })),
];

if (ENGINES.length === 0) {
  test("a watch cache over servers keeps the contract", (context) => {
    context.skip(true, "neither TEST_POSTGRES_URL nor TEST_ETCD_ENDPOINTS names a server");
  });
}

async function harnessOf(engine: Engine): Promise<StorageHarness> {
  const store = await engine.create();
  const engines = new Map<StorageBackend, StorageBackend>();
  return {
    open: async (options) => {
      const inner = await store.open(options);
      const { watchBuffer } = options ?? {};
      // What the cache has of the history is not what a scenario compacts.
      const cache = createWatchCache(inner, {
        watchBuffer,
        history: { events: 0 },
        waitMs: WAIT_MS,
      });
      engines.set(cache, inner);
      return cache;
    },
    compact: async (storage) => store.compact(engines.get(storage) ?? storage),
    [Symbol.asyncDispose]: async () => store[Symbol.asyncDispose](),
  };
}

for (const engine of ENGINES) {
  describe(`a watch cache over ${engine.name}`, { timeout: 120_000 * runFactor() }, () => {
    for (const { title, scenarios } of GROUPS) {
      describe(title, () => {
        for (const scenario of scenarios) {
          if (scenario.applies?.(engine.capabilities) === false) continue;
          test(scenario.title, async () =>
            runScenario(scenario, async () => harnessOf(engine), engine.capabilities),
          );
        }
      });
    }

    test("breaks no rule in random histories of two instances", async () => {
      for (const seed of runSeeds(1)) {
        await using store = await engine.create();
        await using one = createWatchCache(await store.open(), { waitMs: WAIT_MS });
        await using other = createWatchCache(await store.open(), {
          resourceBytes: 1_100,
          waitMs: WAIT_MS,
        });
        for (const cache of [one, other]) (await cache.watchList(A1, EVERYWHERE, "")).close();
        const history = await runWorkload({ instances: [one, other], seed, watches: 4 });
        expect(checkHistory(history), `seed ${seed}`).toEqual([]);
        expect(one.cacheStatistics().hits.watch).toBeGreaterThan(0);
      }
    });

    test("lists at once what another instance has written", async () => {
      await using store = await engine.create();
      await using cache = createWatchCache(await store.open(), { waitMs: WAIT_MS });
      await using writer = await store.open();
      using _ = await cache.watchList(A1, HOME, "");
      let stored = await writer.writeCAS(sample(A1, HOME, "web"));
      for (let count = 0; count < 20; count += 1) {
        assertSameSet(await cache.list("strong", A1, HOME, ""), [stored]);
        stored = await writer.writeCAS(stored);
      }
      expect(cache.cacheStatistics().hits.list).toBeGreaterThan(0);
    });
  });
}

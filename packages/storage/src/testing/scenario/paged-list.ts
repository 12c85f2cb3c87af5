import assert from "node:assert/strict";
import { encodeResource } from "../../codec.ts";
import { resourceKey } from "../../key.ts";
import type { ListPage, ListPageOptions, ResourceHead } from "../../list/types.ts";
import type { Resource, Tenancy, UnversionedType } from "../../resource.ts";
import type { ReadConsistency, StorageBackend } from "../../types.ts";
import { assertCode, assertSameSet, eventually, nextEvent, settledList } from "../assertions.ts";
import type { ScenarioContext, ScenarioGroup } from "../harness.ts";
import { createRandom, type Random } from "../random.ts";
import { runSeeds } from "../run-scale.ts";
import { A1, B1, BILLING, EVERYWHERE, HOME, payload, SEED_FILTERS, sample } from "../samples.ts";
import { writeSeed } from "./list.ts";

/** Lists in pages: completeness, bounds, one store revision, continuations that are not to be trusted. */
export const PAGED_LIST_SCENARIOS: ScenarioGroup = {
  title: "list in pages",
  scenarios: [
    ...SEED_FILTERS.map((filter) => ({
      title: `selects ${filter.title}, each once`,
      applies: isPaged,
      run: async (context: ScenarioContext) => {
        const stored = await writeSeed(context.storage);
        const expected = filter.selects.map((position) => stored[position] as Resource);
        for (const limit of [1, 2, 3, 100]) {
          await eventually(async () => {
            const { type, tenancy, prefix } = filter;
            const query = { type, tenancy, prefix };
            assertSameSet(await collect(context.storage, query, { limit }), expected);
          });
        }
      },
    })),
    {
      title: "keep to the number of resources, and give one page where all fit",
      applies: isPaged,
      run: async ({ storage, capabilities }) => {
        for (let index = 0; index < 7; index += 1) {
          await storage.writeCAS(sample(A1, HOME, `r${index}`));
        }
        await settledList(storage, A1, HOME, "");
        for (const [limit, sizes] of [
          [6, [6, 1]],
          [7, [7]],
          [8, [7]],
          [3, [3, 3, 1]],
        ] as const) {
          const found: number[] = [];
          for await (const page of pagesOf(storage, WHOLE, { limit }, modeOf(capabilities))) {
            found.push(page.length);
          }
          assert.deepEqual(found, sizes);
        }
      },
    },
    {
      title: "keep to the number of bytes, but for a single resource",
      applies: isPaged,
      run: async ({ storage, capabilities }) => {
        for (const [index, bytes] of [10, 2_000, 30, 40, 900, 50].entries()) {
          const data = payload("x".repeat(bytes));
          await storage.writeCAS(sample(A1, HOME, `r${index}`, { data }));
        }
        const stored = await settledList(storage, A1, HOME, "");
        const sizes = new Map(stored.map((one) => [one.id.name, encodeResource(one).byteLength]));
        const total = Array.from(sizes.values()).reduce((sum, size) => sum + size, 0);
        for (const maxBytes of [1, 200, 1_100, total - 1, total]) {
          const found: Resource[] = [];
          const mode = modeOf(capabilities);
          let pages = 0;
          for await (const page of pagesOf(storage, WHOLE, { maxBytes }, mode)) {
            const bytes = page.reduce((sum, one) => sum + (sizes.get(one.id.name) ?? 0), 0);
            assert.ok(bytes <= maxBytes || page.length === 1, `${bytes} bytes of ${maxBytes}`);
            found.push(...page);
            pages += 1;
          }
          assertSameSet(found, stored);
          assert.equal(pages === 1, maxBytes === total);
        }
      },
    },
    {
      title:
        "are together the list at the store revision of the first page, whatever is written meanwhile",
      applies: isPaged,
      run: async ({ storage, capabilities, factor }) => {
        for (const seed of runSeeds(4 * factor)) {
          const random = createRandom(seed);
          const mode = modeOf(capabilities);
          await changeAtRandom(storage, random, 40);
          const before = await settledList(storage, A1, EVERYWHERE, "");
          const limit = 1 + random.below(6);
          const found: Resource[] = [];
          for await (const page of pagesOf(storage, ALL, { limit }, mode)) {
            found.push(...page);
            await changeAtRandom(storage, random, random.below(5));
          }
          assertSameSet(found, before);
        }
      },
    },
    {
      title: "show one state of the history while others write",
      applies: (capabilities) => capabilities.pagedList && capabilities.endOfSnapshot,
      run: async ({ storage, factor }) => {
        for (const seed of runSeeds(2 * factor)) {
          const random = createRandom(seed);
          await changeAtRandom(storage, random, 30);
          using watch = await storage.watchList(A1, EVERYWHERE, "", { endOfSnapshot: true });
          const finished = new AbortController();
          const writers = [1, 2, 3].map(async (writer) => {
            const own = createRandom(seed * 10 + writer);
            while (!finished.signal.aborted) await changeAtRandom(storage, own, 3);
          });
          const lists: (readonly Resource[])[] = [];
          try {
            for (let round = 0; round < 4; round += 1) {
              lists.push(await collect(storage, ALL, { limit: 3 }));
            }
          } finally {
            finished.abort();
            await Promise.all(writers);
          }
          const end = await storage.writeCAS(sample(A1, HOME, `end-${seed}`));
          const states = new Set<string>();
          const state = new Map<string, string>();
          let isLive = false;
          for (;;) {
            const event = await nextEvent(watch);
            if (!("resource" in event)) isLive = true;
            else if (event.operation === "delete") state.delete(resourceKey(event.resource.id));
            else state.set(resourceKey(event.resource.id), event.resource.version);
            if (isLive) states.add(describe(state));
            if (event.operation === "upsert" && event.resource.version === end.version) break;
          }
          for (const list of lists) {
            const seen = new Map(list.map((one) => [resourceKey(one.id), one.version]));
            assert.equal(seen.size, list.length, "a resource came twice");
            assert.ok(states.has(describe(seen)), `seed ${seed}: a state that never was`);
          }
          await storage.deleteCAS(end.id, end.version);
        }
      },
    },
    {
      title: "can be asked for again by the same continuation",
      applies: isPaged,
      run: async ({ storage, capabilities }) => {
        await writeNames(storage, 9);
        await settledList(storage, A1, HOME, "");
        const mode = modeOf(capabilities);
        const first = await storage.listPage(mode, A1, HOME, "", { limit: 3 });
        const continueAfter = first.continuation;
        const second = await storage.listPage(mode, A1, HOME, "", { limit: 3, continueAfter });
        await changeAtRandom(storage, createRandom(1), 10);
        const again = await storage.listPage(mode, A1, HOME, "", { limit: 3, continueAfter });
        assertSameSet(again.resources, second.resources);
        const other = await storage.listPage(mode, A1, HOME, "", { limit: 5, continueAfter });
        assert.equal(other.resources.length, 5, "the bounds may change between pages");
      },
    },
    {
      title: "give heads without the bytes of the data, which do not count",
      applies: isPaged,
      run: async ({ storage, capabilities }) => {
        const owner = sample(A1, HOME, "owner").id;
        const large = payload("d".repeat(300_000));
        const wide = { note: "m".repeat(100_000) };
        const given = [
          sample(A1, HOME, "bare"),
          sample(A1, HOME, "empty", { data: { typeUrl: "", value: new Uint8Array() } }),
          sample(A1, HOME, "untyped", { data: { typeUrl: "", value: Buffer.from("x") } }),
          sample(A1, HOME, "typed", { data: { typeUrl: "t", value: new Uint8Array() }, owner }),
          sample(A1, HOME, "large", { data: large, generation: "g" }),
          sample(A1, HOME, "wide", { data: large, metadata: wide }),
        ];
        for (const resource of given) await storage.writeCAS(resource);
        const stored = await settledList(storage, A1, HOME, "");
        const mode = modeOf(capabilities);
        for (const options of [{ limit: 1 }, { limit: 4 }, { maxBytes: 150_000 }]) {
          const heads: ResourceHead[] = [];
          for await (const page of headsOf(storage, options, mode)) heads.push(...page);
          assert.deepEqual(sorted(heads), sorted(stored.map(expectedHead)));
        }
        const { resources, continuation } = await storage.listHeads(mode, A1, HOME, "", {
          maxBytes: 150_000,
        });
        assert.equal(resources.length, stored.length, "the data was counted");
        assert.equal(continuation, undefined);
      },
    },
    {
      title: "refuse a continuation of another query",
      applies: isPaged,
      run: async ({ storage, capabilities }) => {
        await writeNames(storage, 4);
        await settledList(storage, A1, HOME, "");
        const mode = modeOf(capabilities);
        const { continuation } = await storage.listPage(mode, A1, HOME, "", { limit: 2 });
        const options = { continueAfter: continuation };
        for (const call of [
          () => storage.listPage(mode, B1, HOME, "", options),
          () => storage.listPage(mode, A1, BILLING, "", options),
          () => storage.listPage(mode, A1, EVERYWHERE, "", options),
          () => storage.listPage(mode, A1, HOME, "r", options),
          () => storage.listHeads(mode, A1, HOME, "", options),
        ]) {
          const error = await assertCode(call(), "STORAGE_INVALID_ARGUMENT");
          assert.equal(error.details.field, "continueAfter");
        }
        const rest = await storage.listPage(mode, A1, HOME, "", options);
        assert.equal(rest.resources.length, 2);
      },
    },
    {
      title: "refuse what is no continuation",
      applies: isPaged,
      run: async ({ storage, capabilities }) => {
        await writeNames(storage, 4);
        const mode = modeOf(capabilities);
        const text = (value: unknown): string =>
          Buffer.from(JSON.stringify(value)).toString("base64url");
        const hostile = [
          "",
          " ",
          "null",
          "../../etc/passwd",
          "A".repeat(1024 * 1024),
          text(null),
          text({}),
          text([]),
          text(["1", "a", "b", "c", "d"]),
          text([1]),
          text([1, 2, 3, 4, 5]),
          text([1, "a", "b", "c", "d", "e"]),
          text([1, "\ud800", "b", "c", "d"]),
        ];
        for (const continueAfter of hostile) {
          const call = storage.listPage(mode, A1, HOME, "", { continueAfter });
          await assertCode(call, "STORAGE_INVALID_ARGUMENT");
        }
      },
    },
    {
      title: "give nothing else than the query selects for a continuation that was changed",
      applies: isPaged,
      run: async ({ storage, capabilities, factor }) => {
        await writeNames(storage, 12);
        await storage.writeCAS(sample(B1, HOME, "secret"));
        await storage.writeCAS(sample(A1, BILLING, "secret"));
        const stored = await settledList(storage, A1, HOME, "");
        const names = new Set(stored.map((one) => one.id.name));
        const mode = modeOf(capabilities);
        const random = createRandom(7);
        for (let round = 0; round < 150 * factor; round += 1) {
          const page = await storage.listPage(mode, A1, HOME, "", { limit: 5 });
          const continueAfter = changed(page.continuation ?? assert.fail("one page"), random);
          try {
            const next = await storage.listPage(mode, A1, HOME, "", { continueAfter });
            for (const { id } of next.resources) {
              assert.ok(names.has(id.name) && id.type.kind === A1.kind, id.name);
              assert.equal(id.tenancy.partition, HOME.partition);
            }
          } catch (error) {
            await assertCode(
              Promise.reject(error),
              "STORAGE_INVALID_ARGUMENT",
              "STORAGE_LIST_EXPIRED",
            );
          }
        }
        assertSameSet(await collect(storage, WHOLE, { limit: 5 }), stored);
      },
    },
    {
      title: "refuse bounds that are none",
      applies: isPaged,
      run: async ({ storage, capabilities }) => {
        await storage.writeCAS(sample(A1, HOME, "one"));
        await settledList(storage, A1, HOME, "");
        const mode = modeOf(capabilities);
        for (const options of [
          { limit: 0 },
          { limit: -1 },
          { limit: 1.5 },
          { limit: Number.NaN },
          { limit: 10_001 },
          { maxBytes: 0 },
          { maxBytes: 64 * 1024 * 1024 + 1 },
          { maxBytes: Number.POSITIVE_INFINITY },
        ]) {
          const call = storage.listPage(mode, A1, HOME, "", options);
          await assertCode(call, "STORAGE_INVALID_ARGUMENT");
        }
        const most = { limit: 10_000, maxBytes: 64 * 1024 * 1024 };
        const { resources } = await storage.listPage(mode, A1, HOME, "", most);
        assert.equal(resources.length, 1);
      },
    },
    {
      title: "end with a code that says so when the content is replaced",
      applies: (capabilities) => capabilities.pagedList && capabilities.restore,
      run: async ({ storage, capabilities }) => {
        await writeNames(storage, 6);
        const mode = modeOf(capabilities);
        const { continuation } = await storage.listPage(mode, A1, HOME, "", { limit: 2 });
        await using restore = await storage.restore();
        await restore.apply(sample(A1, HOME, "restored", { version: "1" }));
        await restore.commit();
        const options = { limit: 2, continueAfter: continuation };
        const call = storage.listPage(mode, A1, HOME, "", options);
        const error = await assertCode(call, "STORAGE_LIST_EXPIRED");
        assert.equal(error.retryable, true);
      },
    },
    {
      title: "continue after a restart, or end with a code that says so",
      applies: (capabilities) => capabilities.pagedList && capabilities.durability !== "none",
      run: async ({ storage, harness, capabilities }) => {
        await writeNames(storage, 6);
        const mode = modeOf(capabilities);
        const first = await storage.listPage(mode, A1, HOME, "", { limit: 2 });
        await storage.close();
        await using again = await harness.open();
        const options = { limit: 10, continueAfter: first.continuation };
        let rest: ListPage;
        try {
          rest = await again.listPage(mode, A1, HOME, "", options);
        } catch (error) {
          await assertCode(Promise.reject(error), "STORAGE_LIST_EXPIRED");
          return;
        }
        const names = [...first.resources, ...rest.resources].map((one) => one.id.name);
        assert.deepEqual(names.toSorted(), ["r00", "r01", "r02", "r03", "r04", "r05"]);
      },
    },
    {
      title: "continue after a compaction of the history, or end with a code that says so",
      applies: isPaged,
      run: async ({ storage, harness, capabilities }) => {
        await writeNames(storage, 6);
        const before = await settledList(storage, A1, HOME, "");
        const mode = modeOf(capabilities);
        const first = await storage.listPage(mode, A1, HOME, "", { limit: 2 });
        await writeNames(storage, 9, 6);
        await harness.compact?.(storage);
        const options = { limit: 10, continueAfter: first.continuation };
        try {
          const rest = await storage.listPage(mode, A1, HOME, "", options);
          assertSameSet([...first.resources, ...rest.resources], before);
        } catch (error) {
          await assertCode(Promise.reject(error), "STORAGE_LIST_EXPIRED");
        }
      },
    },
    {
      title: "may be left unfinished in any number",
      applies: isPaged,
      run: async ({ storage, capabilities }) => {
        await writeNames(storage, 6);
        await settledList(storage, A1, HOME, "");
        const mode = modeOf(capabilities);
        const oldest = await storage.listPage(mode, A1, HOME, "", { limit: 2 });
        for (let round = 0; round < 100; round += 1) {
          await storage.listPage(mode, A1, HOME, "", { limit: 2 });
        }
        const found = await collect(storage, WHOLE, { limit: 2 });
        assert.equal(found.length, 6);
        const options = { limit: 10, continueAfter: oldest.continuation };
        try {
          const rest = await storage.listPage(mode, A1, HOME, "", options);
          assert.equal(rest.resources.length, 4);
        } catch (error) {
          await assertCode(Promise.reject(error), "STORAGE_LIST_EXPIRED");
        }
        await storage.writeCAS(sample(A1, HOME, "writable"));
      },
    },
    {
      title: "are given up by an aborted signal, and refused after the close",
      applies: isPaged,
      run: async ({ storage, capabilities }) => {
        await writeNames(storage, 4);
        const mode = modeOf(capabilities);
        const reason = new Error("given up");
        const signal = AbortSignal.abort(reason);
        await assert.rejects(storage.listPage(mode, A1, HOME, "", { signal }), reason);
        const { continuation } = await storage.listPage(mode, A1, HOME, "", { limit: 1 });
        await storage.close();
        const options = { continueAfter: continuation };
        const call = storage.listPage(mode, A1, HOME, "", options);
        await assertCode(call, "STORAGE_INCONSISTENT");
      },
    },
    {
      title: "give Inconsistent for an unknown consistency mode",
      applies: isPaged,
      run: async ({ storage }) => {
        const mode = "sequential" as ReadConsistency;
        await assertCode(storage.listPage(mode, A1, HOME, ""), "STORAGE_INCONSISTENT");
        await assertCode(storage.listHeads(mode, A1, HOME, ""), "STORAGE_INCONSISTENT");
      },
    },
  ],
};

interface Query {
  readonly type: UnversionedType;
  readonly tenancy: Tenancy;
  readonly prefix: string;
}

const WHOLE: Query = { type: A1, tenancy: HOME, prefix: "" };
const ALL: Query = { type: A1, tenancy: EVERYWHERE, prefix: "" };

function isPaged({ pagedList }: ScenarioContext["capabilities"]): boolean {
  return pagedList;
}

function modeOf({ strongList }: ScenarioContext["capabilities"]): ReadConsistency {
  return strongList ? "strong" : "eventual";
}

/** The pages one by one, and asked for one by one. */
async function* pagesOf(
  storage: StorageBackend,
  { type, tenancy, prefix }: Query,
  options: ListPageOptions,
  mode: ReadConsistency,
): AsyncGenerator<readonly Resource[]> {
  let continueAfter: string | undefined;
  do {
    const page = await storage.listPage(mode, type, tenancy, prefix, { ...options, continueAfter });
    yield page.resources;
    continueAfter = page.continuation;
  } while (continueAfter !== undefined);
}

async function* headsOf(
  storage: StorageBackend,
  options: ListPageOptions,
  mode: ReadConsistency,
): AsyncGenerator<readonly ResourceHead[]> {
  let continueAfter: string | undefined;
  do {
    const page = await storage.listHeads(mode, A1, HOME, "", { ...options, continueAfter });
    yield page.resources;
    continueAfter = page.continuation;
  } while (continueAfter !== undefined);
}

async function collect(
  storage: StorageBackend,
  query: Query,
  options: ListPageOptions,
): Promise<readonly Resource[]> {
  const found: Resource[] = [];
  const mode = modeOf(storage.capabilities);
  for await (const page of pagesOf(storage, query, options, mode)) found.push(...page);
  return found;
}

async function writeNames(storage: StorageBackend, count: number, from = 0): Promise<void> {
  for (let index = from; index < count; index += 1) {
    await storage.writeCAS(sample(A1, HOME, `r${String(index).padStart(2, "0")}`));
  }
}

/** Writes, overwrites and deletes a few names; what another writer was faster with does not matter. */
async function changeAtRandom(
  storage: StorageBackend,
  random: Random,
  count: number,
): Promise<void> {
  for (let step = 0; step < count; step += 1) {
    const tenancy = random.pick([HOME, BILLING]);
    const name = `n${random.below(20)}`;
    const id = sample(A1, tenancy, name).id;
    const stored = await storage.read("strong", id).catch(() => undefined);
    const data = payload(String(random.below(1_000)));
    const changing =
      stored !== undefined && random.below(3) === 0
        ? storage.deleteCAS(stored.id, stored.version)
        : storage.writeCAS(sample(A1, tenancy, name, { data, version: stored?.version ?? "" }));
    await changing.catch((error: unknown) =>
      assertCode(Promise.reject(error), "STORAGE_CAS_FAILURE"),
    );
  }
}

/** A text with one character changed, removed, added or doubled. */
function changed(text: string, random: Random): string {
  const at = random.below(text.length);
  const letter = random.pick(Array.from("ABCxyz019-_"));
  switch (random.below(4)) {
    case 0:
      return text.slice(0, at) + letter + text.slice(at + 1);
    case 1:
      return text.slice(0, at);
    case 2:
      return text.slice(0, at) + letter + text.slice(at);
    default:
      return text.slice(0, at) + text.slice(at + 1);
  }
}

function describe(state: ReadonlyMap<string, string>): string {
  return Array.from(state, ([key, version]) => `${key} ${version}`)
    .toSorted()
    .join("\n");
}

function expectedHead({ data, ...rest }: Resource): ResourceHead {
  return data === undefined
    ? rest
    : { ...rest, data: { typeUrl: data.typeUrl, bytes: data.value.byteLength } };
}

function sorted(heads: readonly ResourceHead[]): readonly ResourceHead[] {
  return heads.toSorted((left, right) => (left.id.name < right.id.name ? -1 : 1));
}

import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createMemoryStorage } from "../engine/memory.ts";
import { isStorageError } from "../errors.ts";
import { filterMatches, type ResourceFilter, resourceKey } from "../key.ts";
import type { Resource } from "../resource.ts";
import { A1, B1, BILLING, EVERYWHERE, HOME, sample } from "../testing/samples.ts";
import type { BatchOperation, StorageBackend, Watch } from "../types.ts";
import { createWatchCache } from "./watch-cache.ts";

// The naive model is a map of what was acknowledged, and a map per watch of what its events add up to.

const TYPES = [A1, B1];
const TENANCIES = [HOME, BILLING];
const NAMES = ["a", "ab", "b", "c"];
const SIZES = [0, 100, 5_000];

const filterOf: fc.Arbitrary<ResourceFilter> = fc.record({
  type: fc.constantFrom(...TYPES),
  tenancy: fc.constantFrom(...TENANCIES, EVERYWHERE),
  namePrefix: fc.constantFrom("", "a", "ab"),
});

const target = fc.record({
  type: fc.constantFrom(...TYPES),
  tenancy: fc.constantFrom(...TENANCIES),
  name: fc.constantFrom(...NAMES),
});

const step = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.tuple(fc.constant("write" as const), target, fc.constantFrom(...SIZES)),
  },
  { weight: 2, arbitrary: fc.tuple(fc.constant("delete" as const), target, fc.constant(0)) },
  { weight: 1, arbitrary: fc.tuple(fc.constant("watch" as const), filterOf, fc.constant(0)) },
  { weight: 1, arbitrary: fc.tuple(fc.constant("resume" as const), filterOf, fc.nat(9)) },
  { weight: 1, arbitrary: fc.tuple(fc.constant("leave" as const), filterOf, fc.nat(9)) },
  { weight: 2, arbitrary: fc.tuple(fc.constant("compare" as const), filterOf, fc.nat(9)) },
);

interface Follower {
  watch: Watch;
  readonly filter: ResourceFilter;
  readonly folded: Map<string, string>;
  cursor: string | undefined;
}

class Run {
  readonly #storage: StorageBackend;
  readonly #model = new Map<string, Resource>();
  readonly #followers: Follower[] = [];

  constructor(storage: StorageBackend) {
    this.#storage = storage;
  }

  async write(id: Pick<Resource["id"], "type" | "tenancy" | "name">, size: number): Promise<void> {
    const made = sample(id.type, id.tenancy, id.name, {
      data: { typeUrl: "example.test/Bytes", value: new Uint8Array(size) },
    });
    const stored = this.#model.get(resourceKey(id));
    const resource = { ...made, version: stored?.version ?? "" };
    const operations: BatchOperation[] = [{ kind: "write", resource }];
    const [written] = await this.#storage.batch(operations);
    this.#model.set(resourceKey(id), written as Resource);
  }

  async delete(id: Pick<Resource["id"], "type" | "tenancy" | "name">): Promise<void> {
    const stored = this.#model.get(resourceKey(id));
    if (stored === undefined) return;
    await this.#storage.deleteCAS(stored.id, stored.version);
    this.#model.delete(resourceKey(id));
  }

  async watch(filter: ResourceFilter): Promise<void> {
    const { type, tenancy, namePrefix } = filter;
    const watch = await this.#storage.watchList(type, tenancy, namePrefix, { endOfSnapshot: true });
    this.#followers.push({ watch, filter, folded: new Map(), cursor: undefined });
  }

  /** Leaves one of the watches and continues it by its cursor. */
  async resume(pick: number): Promise<void> {
    const follower = this.#followers[pick % Math.max(1, this.#followers.length)];
    if (follower === undefined) return;
    await this.#fold(follower);
    follower.watch.close();
    const { type, tenancy, namePrefix } = follower.filter;
    const { cursor } = follower;
    if (cursor === undefined) throw new Error("a watch without a cursor");
    follower.watch = await this.#storage.watchList(type, tenancy, namePrefix, {
      resumeAfter: cursor,
    });
  }

  leave(pick: number): void {
    const [left] = this.#followers.splice(pick % Math.max(1, this.#followers.length), 1);
    left?.watch.close();
  }

  /** Reads and lists in both modes, and what all watches add up to, against the model. */
  async compare(filter: ResourceFilter): Promise<void> {
    const { type, tenancy, namePrefix } = filter;
    for (const consistency of ["strong", "eventual"] as const) {
      const listed = await this.#storage.list(consistency, type, tenancy, namePrefix);
      expect(versionsOf(listed)).toEqual(this.#expected(filter));
      for (const resource of listed) {
        expect(await this.#storage.read(consistency, resource.id)).toEqual(resource);
      }
    }
    for (const name of NAMES) {
      const { id } = sample({ ...type, groupVersion: "v1" }, HOME, name);
      const stored = this.#model.get(resourceKey(id));
      const read = await this.#storage.read("strong", id).catch((error: unknown) => {
        if (!isStorageError(error, "STORAGE_NOT_FOUND")) throw error;
      });
      expect(read?.version).toBe(stored?.version);
    }
    for (const follower of this.#followers) {
      await this.#fold(follower);
      expect(follower.folded).toEqual(this.#expected(follower.filter));
    }
  }

  /** Takes what a watch has: in the memory engine that is all there is. */
  async #fold(follower: Follower): Promise<void> {
    for (;;) {
      const signal = AbortSignal.timeout(0);
      const event = await follower.watch.next({ signal }).catch(() => undefined);
      if (event === undefined) return;
      follower.cursor = event.cursor ?? follower.cursor;
      if (!("resource" in event)) continue;
      const { id, version } = event.resource;
      const key = resourceKey(id);
      if (event.operation === "upsert") follower.folded.set(key, version);
      else {
        expect(follower.folded.get(key)).toBe(version);
        follower.folded.delete(key);
      }
    }
  }

  #expected(filter: ResourceFilter): Map<string, string> {
    const selected = [...this.#model.values()].filter((resource) =>
      filterMatches(filter, resource),
    );
    return versionsOf(selected);
  }
}

function versionsOf(resources: readonly Resource[]): Map<string, string> {
  const entries = resources.map(({ id, version }) => [resourceKey(id), version] as const);
  return new Map(entries.toSorted(([left], [right]) => (left < right ? -1 : 1)));
}

const bounds = fc.constantFrom(
  {},
  { resourceBytes: 2_000 },
  { typeBytes: 12_000 },
  { totalBytes: 9_000, resourceBytes: 2_000 },
  { history: { events: 2 } },
  { idleMs: 0 },
);

describe("a watch cache", () => {
  test("agrees with a map of what was acknowledged, whatever its bounds", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 60 }), bounds, async (steps, options) => {
        await using storage = createWatchCache(createMemoryStorage(), options);
        const run = new Run(storage);
        for (const taken of steps) {
          const [kind, on, number] = taken;
          if (kind === "write") await run.write(on, number);
          else if (kind === "delete") await run.delete(on);
          else if (kind === "watch") await run.watch(on);
          else if (kind === "resume") await run.resume(number);
          else if (kind === "leave") run.leave(number);
          else await run.compare(on);
        }
        for (const type of TYPES) await run.compare({ type, tenancy: EVERYWHERE, namePrefix: "" });
      }),
    );
  }, 60_000);
});

import { createManualClock } from "@stackwright/base/testing";
import { describe, expect, test } from "vitest";
import { createMemoryStorage } from "../engine/memory.ts";
import { StorageError } from "../errors.ts";
import type { ResourceId } from "../resource.ts";
import { assertCode } from "../testing/assertions.ts";
import { DelegatingStorage } from "../testing/delegate.ts";
import type { StorageBackend, WriteOptions } from "../types.ts";
import { type Reaper, startReaper } from "./reaper.ts";
import { createResourceService } from "./resource-service.ts";
import { isTombstone, TOMBSTONE_TYPE } from "./tombstone.ts";

const OWNER = { group: "demo", groupVersion: "v1", kind: "Owner" };
const CHILD = { group: "demo", groupVersion: "v1", kind: "Child" };
const EVERYWHERE = { partition: "*", peerName: "*", namespace: "*" };
const SECOND_PASS = 30_000;

function setUp(storage: StorageBackend = createMemoryStorage()) {
  const clock = createManualClock();
  const types = [{ type: OWNER }, { type: CHILD }];
  const service = createResourceService({ storage, types, clock });
  const reap = (): Reaper => startReaper({ storage, clock, secondPassMs: SECOND_PASS });
  const create = (name: string, owner?: ResourceId) =>
    service.write({
      id: { name, type: owner === undefined ? OWNER : CHILD },
      ...(owner === undefined ? {} : { owner }),
    });
  const count = async (type: typeof OWNER): Promise<number> =>
    (await storage.list("strong", type, EVERYWHERE, "")).length;
  return { storage, clock, service, reap, create, count };
}

describe("deleting an owner", () => {
  test("deletes its children, theirs, and in the end the tombstones", async () => {
    const { service, clock, reap, create, count } = setUp();
    await using _reaper = reap();
    const owner = await create("owner");
    const children = [];
    for (const name of ["a", "b", "c"]) children.push(await create(name, owner.id));
    for (const child of children) await create(`of-${child.id.name}`, child.id);
    await create("unrelated");
    await service.delete({ name: "owner", type: OWNER });
    await clock.advance(1_000);
    expect(await count(CHILD)).toBe(0);
    expect(await count(OWNER)).toBe(1);
    expect(await count(TOMBSTONE_TYPE)).toBeGreaterThan(0);
    await clock.advance(SECOND_PASS * 2);
    expect(await count(TOMBSTONE_TYPE)).toBe(0);
  });

  test("catches children that are created between the two passes", async () => {
    const { service, clock, reap, create, count } = setUp();
    await using _reaper = reap();
    const owner = await create("owner");
    await service.delete(owner.id);
    await clock.advance(1_000);
    await create("late", owner.id);
    await clock.advance(SECOND_PASS / 2);
    expect(await count(CHILD)).toBe(1);
    await clock.advance(SECOND_PASS);
    expect(await count(CHILD)).toBe(0);
  });

  test("can be repeated when the process died between tombstone and deletion", async () => {
    const dying = new DiesBeforeDeletion(createMemoryStorage());
    const { service, clock, reap, create, count } = setUp(dying);
    const owner = await create("owner");
    for (const name of ["a", "b", "c"]) await create(name, owner.id);
    dying.dead = true;
    await assertCode(service.delete(owner.id), "STORAGE_INCONSISTENT");
    dying.dead = false;
    // The tombstone is there before its owner is gone.
    expect(await count(TOMBSTONE_TYPE)).toBe(1);
    expect(await count(OWNER)).toBe(1);
    await service.delete(owner.id);
    expect(await count(OWNER)).toBe(0);
    expect(await count(TOMBSTONE_TYPE)).toBe(1);
    await using _reaper = reap();
    await clock.advance(SECOND_PASS * 3);
    expect(await count(CHILD)).toBe(0);
    expect(await count(TOMBSTONE_TYPE)).toBe(0);
  });

  test("is not carried out by a tombstone whose owner stayed", async () => {
    const dying = new DiesBeforeDeletion(createMemoryStorage());
    const { service, clock, reap, create, count } = setUp(dying);
    const owner = await create("owner");
    await create("child", owner.id);
    dying.dead = true;
    await assertCode(service.delete(owner.id), "STORAGE_INCONSISTENT");
    dying.dead = false;
    await using _reaper = reap();
    await clock.advance(SECOND_PASS * 3);
    expect(await count(CHILD)).toBe(1);
    expect(await count(TOMBSTONE_TYPE)).toBe(0);
    // A later deletion writes another tombstone.
    await service.delete(owner.id);
    await clock.advance(SECOND_PASS * 3);
    expect(await count(CHILD)).toBe(0);
  });

  test("continues in another reaper where one stopped", async () => {
    const { service, clock, reap, create, count } = setUp();
    const owner = await create("owner");
    await create("child", owner.id);
    const first = reap();
    await service.delete(owner.id);
    await clock.advance(1_000);
    await first.close();
    expect(await count(CHILD)).toBe(0);
    await create("late", owner.id);
    await using _second = reap();
    await clock.advance(SECOND_PASS);
    expect(await count(CHILD)).toBe(0);
    expect(await count(TOMBSTONE_TYPE)).toBe(1);
    await clock.advance(SECOND_PASS);
    expect(await count(TOMBSTONE_TYPE)).toBe(0);
  });

  test("waits for the finalizers of children", async () => {
    const { service, clock, reap, create, count } = setUp();
    await using _reaper = reap();
    const owner = await create("owner");
    await service.write({
      id: { name: "child", type: CHILD },
      owner: owner.id,
      metadata: { finalizers: "busy" },
    });
    await service.delete(owner.id);
    await clock.advance(1_000);
    const marked = await service.read({ name: "child", type: CHILD });
    expect(marked.metadata.deletionTimestamp).toBeDefined();
    expect(await count(CHILD)).toBe(1);
  });

  test("leaves the children of another lifetime alone", async () => {
    const { service, clock, reap, create, count } = setUp();
    await using _reaper = reap();
    const first = await create("owner");
    await create("old", first.id);
    await service.delete(first.id);
    const second = await create("owner");
    await create("new", second.id);
    await clock.advance(SECOND_PASS * 3);
    expect(await count(CHILD)).toBe(1);
    expect((await service.listByOwner(second.id)).map((found) => found.id.name)).toEqual(["new"]);
  });

  test("of what does not exist is done already, and an old version is refused", async () => {
    const { service, create, count } = setUp();
    await service.delete({ name: "never", type: OWNER });
    const owner = await create("owner");
    await service.write({ id: owner.id });
    const stale = service.delete({ ...owner.id, version: owner.version });
    await assertCode(stale, "STORAGE_CAS_FAILURE");
    expect(await count(TOMBSTONE_TYPE)).toBe(0);
  });
});

/** Dies before anything but a tombstone is deleted. */
class DiesBeforeDeletion extends DelegatingStorage {
  dead = false;

  override async deleteCAS(id: ResourceId, version: string, options?: WriteOptions): Promise<void> {
    if (this.dead && !isTombstone(id)) throw new StorageError("STORAGE_INCONSISTENT");
    return this.inner.deleteCAS(id, version, options);
  }
}

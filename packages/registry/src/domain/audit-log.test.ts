import { createManualClock } from "@stackwright/base/testing";
import { createMemoryStorage } from "@stackwright/storage/memory";
import { expect, it, onTestFinished, vi } from "vitest";
import { createRegistryFixture, TEST_CONTEXT, TEST_REGION } from "../testing/registry-fixture.ts";
import { AuditLog } from "./audit-log.ts";
import { RecordStore } from "./record-store.ts";

const scope = { account: "acme", region: TEST_REGION };
const DAY_MS = 86_400_000;

async function start() {
  const storage = createMemoryStorage();
  const faults = { batches: Number.POSITIVE_INFINITY };
  const searched = { heads: 0 };
  const failing = new Proxy(storage, {
    get(target, name) {
      if (name === "listHeads") {
        return async (...args: Parameters<typeof storage.listHeads>) => {
          const page = await storage.listHeads(...args);
          searched.heads += page.resources.length;
          return page;
        };
      }
      if (name === "batch") {
        return async (...args: Parameters<typeof storage.batch>) => {
          if ((faults.batches -= 1) < 0) throw new Error("the store is away");
          return target.batch(...args);
        };
      }
      const value: unknown = Reflect.get(target, name);
      return typeof value === "function" ? (value.bind(target) as unknown) : value;
    },
  });
  const fixture = await createRegistryFixture(failing);
  onTestFinished(async () => {
    await fixture[Symbol.asyncDispose]();
    await storage.close();
  });
  const { registry, clock } = fixture;
  const entry = (target: string) =>
    registry.auditEntry(scope, TEST_CONTEXT, { action: "test", target });
  const add = async (target: string) => storage.batch([entry(target)]);
  const read = async (after = 0, limit = 100) => {
    const found = await registry.auditPage(scope, { after, limit });
    return found.map(({ sequence, target }) => `${sequence} ${target}`);
  };
  return { storage, faults, searched, registry, clock, entry, add, read };
}

it("an entry that is stored late comes behind what was read, whatever its id says", async () => {
  const { storage, clock, entry, add, read } = await start();
  clock.setWallMs(Date.parse("2026-01-02T23:59:00Z"));
  const late = entry("late");
  await add("first");
  clock.setWallMs(Date.parse("2026-01-03T12:00:00Z"));
  await add("second");
  expect(await read()).toEqual(["1 first", "2 second"]);
  await storage.batch([late]);
  // Another server, whose clock is a day behind.
  const behind = await createRegistryFixture(storage);
  onTestFinished(async () => behind[Symbol.asyncDispose]());
  behind.clock.setWallMs(Date.parse("2026-01-02T12:00:00Z"));
  const facts = { action: "test", target: "behind" };
  await storage.batch([behind.registry.auditEntry(scope, TEST_CONTEXT, facts)]);
  // Those of clocks that are off are searched for every five minutes.
  clock.setWallMs(Date.parse("2026-01-03T12:05:00Z"));
  expect(await read(2)).toEqual(["3 behind", "4 late"]);
  expect(await read(4)).toEqual([]);
  clock.setWallMs(Date.parse("2026-03-01T00:00:00Z"));
  await add("months later");
  expect(await read(4)).toEqual(["5 months later"]);
  expect(await read()).toHaveLength(5);
  expect(await read(Number.MAX_SAFE_INTEGER - 1_000)).toEqual([]);
});

it("each entry has one number, however many read and write at once", async () => {
  const { registry, clock, add, read } = await start();
  clock.setWallMs(Date.parse("2026-01-02T00:00:00Z"));
  const seen: string[] = [];
  const writing = (async () => {
    for (let at = 0; at < 600; at += 1) await add(`of ${at}`);
  })();
  for (let after = 0; seen.length < 600; ) {
    const [found] = await Promise.all([read(after, 70), read(0, 3), read(after, 1)]);
    for (const line of found) {
      after += 1;
      expect(Number(line.split(" ")[0])).toBe(after);
      seen.push(line.slice(line.indexOf(" ") + 1));
    }
  }
  await writing;
  expect(new Set(seen).size).toBe(600);
  expect(await read(0, 1_000)).toHaveLength(600);
  expect(await read(600)).toEqual([]);
  const other = { account: "other", region: TEST_REGION };
  expect(await registry.auditPage(other, { after: 0, limit: 1 })).toEqual([]);
});

it("entries past their time are left out, and their numbers are not given again", async () => {
  const { registry, clock, add, read } = await start();
  clock.setWallMs(Date.parse("2026-01-02T00:00:00Z"));
  for (let at = 0; at < 300; at += 1) await add(`of ${at}`);
  expect(await read(299)).toEqual(["300 of 299"]);
  clock.setWallMs(Date.parse("2026-01-02T00:00:00Z") + 89 * DAY_MS);
  await add("kept");
  expect(await read(300)).toEqual(["301 kept"]);
  clock.setWallMs(Date.parse("2026-01-02T00:00:00Z") + 100 * DAY_MS);
  await registry.sweep();
  expect(await read()).toEqual(["301 kept"]);
  await add("next");
  expect(await read(301)).toEqual(["302 next"]);
});

it("looks for old entries once a day, and then only at the days that became old", async () => {
  const { storage, searched, registry, clock, entry } = await start();
  const at = Date.parse("2026-01-02T12:00:00Z");
  const other = { account: "other", region: TEST_REGION };
  for (let day = 0; day < 10; day += 1) {
    clock.setWallMs(at + day * DAY_MS);
    const facts = { action: "test", target: "other" };
    const ofOther = registry.auditEntry(other, TEST_CONTEXT, facts);
    await storage.batch([entry(`a${day}`), entry(`b${day}`), ofOther]);
  }
  const sweep = async (day: number) => {
    searched.heads = 0;
    clock.setWallMs(at + day * DAY_MS);
    return { removed: (await registry.sweep()).auditEntries, heads: searched.heads };
  };
  // They stay for 90 days.
  expect(await sweep(91)).toEqual({ removed: 3, heads: 30 });
  expect(await sweep(91.2)).toEqual({ removed: 0, heads: 0 });
  expect(await sweep(92)).toEqual({ removed: 3, heads: 3 });
  // The clock was set back.
  expect(await sweep(80)).toEqual({ removed: 0, heads: 0 });
  expect(await sweep(95)).toEqual({ removed: 9, heads: 9 });
  // A trail that was not there when all were looked for.
  clock.setWallMs(at + 100 * DAY_MS);
  const late = { account: "late", region: TEST_REGION };
  await storage.batch([registry.auditEntry(late, TEST_CONTEXT, { action: "test", target: "x" })]);
  expect((await sweep(180)).removed).toBe(15);
  expect((await sweep(191)).removed).toBe(1);
});

it("looks for old entries once a day also where there are too many trails to be remembered", async () => {
  const storage = createMemoryStorage();
  onTestFinished(() => storage.close());
  const at = Date.parse("2026-01-02T12:00:00Z");
  let nowMs = at;
  const clock = { ...createManualClock(), wallMs: () => nowMs };
  const heads = vi.spyOn(storage, "listHeads");
  const log = new AuditLog(new RecordStore(storage), clock, undefined, 1);
  for (const partition of ["one", "two"]) {
    const tenancy = { partition, peerName: "local", namespace: "a" };
    await storage.batch([log.entry(tenancy, TEST_CONTEXT, { action: "test", target: "x" })]);
  }
  const prune = async (day: number) => {
    heads.mockClear();
    nowMs = at + day * DAY_MS;
    return { removed: await log.prune(90), looks: heads.mock.calls.length > 0 };
  };
  expect(await prune(80)).toEqual({ removed: 0, looks: true });
  expect(await prune(80.2)).toEqual({ removed: 0, looks: false });
  expect(await prune(91)).toEqual({ removed: 2, looks: true });
});

it("drops numbers of old entries in their order, and looks at no more than one that stays", async () => {
  const { storage, registry, clock, entry, read } = await start();
  const at = Date.parse("2026-01-02T12:00:00Z");
  for (let day = 0; day < 8; day += 1) {
    clock.setWallMs(at + day * DAY_MS);
    for (let index = 0; index < 256; index += 32) {
      await storage.batch(Array.from({ length: 32 }, (_, more) => entry(`${day} ${index + more}`)));
    }
    await read(0, 10_000);
  }
  const segments = async () => {
    const type = { group: "stackwright", groupVersion: "v1", kind: "AuditSegment" };
    const everywhere = { partition: "*", peerName: "*", namespace: "*" };
    const found = await storage.list("strong", type, everywhere, "");
    return found.map(({ id }) => Number.parseInt(id.name, 16)).toSorted((a, b) => a - b);
  };
  expect(await segments()).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
  clock.setWallMs(at + 95 * DAY_MS);
  await registry.sweep();
  expect(await segments()).toEqual([3, 4, 5, 6, 7]);
  clock.setWallMs(at + 97 * DAY_MS);
  await registry.sweep();
  expect(await segments()).toEqual([5, 6, 7]);
  expect((await read(5 * 256, 1)).length).toBe(1);
});

it("drops numbers of old entries also where a clock was far ahead when some of them were given", async () => {
  const { storage, registry, clock, entry, read } = await start();
  const at = Date.parse("2026-01-02T12:00:00Z");
  for (let day = 0; day < 6; day += 1) {
    clock.setWallMs(at + day * DAY_MS);
    for (let index = 0; index < 256; index += 32) {
      await storage.batch(Array.from({ length: 32 }, (_, more) => entry(`${day} ${index + more}`)));
    }
    if (day === 1 || day === 4) clock.setWallMs(at + 4_000 * DAY_MS);
    await read(0, 10_000);
  }
  const sweep = async (day: number) => {
    clock.setWallMs(at + day * DAY_MS);
    await registry.sweep();
    const type = { group: "stackwright", groupVersion: "v1", kind: "AuditSegment" };
    const everywhere = { partition: "*", peerName: "*", namespace: "*" };
    const found = await storage.list("strong", type, everywhere, "");
    return found.map(({ id }) => Number.parseInt(id.name, 16)).toSorted((a, b) => a - b);
  };
  expect(await sweep(50)).toEqual([0, 1, 2, 3, 4, 5]);
  // What lies between the first and the second of them is old by now; the second one may be as young as the one behind it.
  expect(await sweep(96)).toEqual([4, 5]);
  expect(await sweep(98)).toEqual([]);
});

it("entries keep their turn where numbering ends halfway", async () => {
  const { storage, faults, clock, entry, add, read } = await start();
  clock.setWallMs(Date.parse("2026-01-02T00:00:00Z"));
  const many = 5_200;
  for (let at = 0; at < many; at += 26) {
    await storage.batch(Array.from({ length: 26 }, (_, index) => entry(`of ${at + index}`)));
  }
  clock.setWallMs(Date.parse("2026-01-20T00:00:00Z"));
  await add("last");
  // What is numbered at once does not fit into one batch.
  faults.batches = 1;
  await expect(read()).rejects.toThrow("the store is away");
  faults.batches = Number.POSITIVE_INFINITY;
  expect(await read(many - 1)).toEqual([`${many} of ${many - 1}`, `${many + 1} last`]);
});

it("an entry whose server had a clock that was ahead gets no second number", async () => {
  const { storage, clock, add, read } = await start();
  const ahead = await createRegistryFixture(storage);
  onTestFinished(async () => ahead[Symbol.asyncDispose]());
  clock.setWallMs(Date.parse("2026-01-02T20:00:00Z"));
  ahead.clock.setWallMs(Date.parse("2026-01-03T02:00:00Z"));
  const facts = { action: "test", target: "ahead" };
  // A whole segment, which no later entry changes.
  for (let at = 0; at < 256; at += 1) {
    await storage.batch([ahead.registry.auditEntry(scope, TEST_CONTEXT, facts)]);
  }
  expect(await read(255)).toEqual(["256 ahead"]);
  clock.setWallMs(Date.parse("2026-01-05T21:00:00Z"));
  await add("next");
  expect(await read(256)).toEqual(["257 next"]);
  expect(await read(257)).toEqual([]);
});

it("servers that number for the first time at once agree", async () => {
  const { storage, clock, add, read } = await start();
  const other = await createRegistryFixture(storage);
  onTestFinished(async () => other[Symbol.asyncDispose]());
  other.clock.setWallMs(clock.wallMs());
  for (let at = 0; at < 600; at += 1) await add(`of ${at}`);
  const [a, b] = await Promise.all([
    read(0, 1_000),
    other.registry.auditPage(scope, { after: 0, limit: 1_000 }),
  ]);
  expect(a).toHaveLength(600);
  expect(b.map(({ sequence, target }) => `${sequence} ${target}`)).toEqual(a);
});

it("who asks every few seconds has what was made lately searched, and misses nothing", async () => {
  const { storage, searched, clock, entry, add, read } = await start();
  const many = 2_600;
  for (let day = 1; day <= 4; day += 1) {
    clock.setWallMs(Date.parse(`2026-01-0${day}T12:00:00Z`));
    for (let at = 0; at < many / 4; at += 26) {
      await storage.batch(Array.from({ length: 26 }, () => entry("old")));
    }
  }
  // Over the end of a day, and over those of slices of time.
  const beginMs = Date.parse("2026-01-04T23:40:00Z");
  clock.setWallMs(beginMs);
  expect((await read(0, 10_000)).length).toBe(many);
  const before = searched.heads;
  for (let poll = 1; poll <= 4 * 60; poll += 1) {
    clock.setWallMs(beginMs + poll * 10_000);
    await add(`new ${poll}`);
    expect(await read(many + poll - 1)).toEqual([`${many + poll} new ${poll}`]);
  }
  // Eight searches of all days, and 232 of what was made lately.
  expect(searched.heads - before).toBeLessThan(10 * (many + 240) + 232 * 240);
  const last = searched.heads;
  clock.setWallMs(clock.wallMs() + 10_000);
  expect(await read(many + 240)).toEqual([]);
  expect(searched.heads - last).toBeLessThan(400);
});

it("two servers that take turns number each entry once", async () => {
  const { storage, clock, add, read } = await start();
  const other = await createRegistryFixture(storage);
  onTestFinished(async () => other[Symbol.asyncDispose]());
  const beginMs = Date.parse("2026-01-02T00:00:00Z");
  for (let poll = 0; poll < 600; poll += 1) {
    for (const of of [clock, other.clock]) of.setWallMs(beginMs + poll * 3_000);
    await add(`of ${poll}`);
    if (poll % 3 === 0) await read(poll);
    if (poll % 5 === 0) await other.registry.auditPage(scope, { after: poll, limit: 10 });
  }
  expect(await read(0, 1_000)).toEqual(
    Array.from({ length: 600 }, (_, at) => `${at + 1} of ${at}`),
  );
});

import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { createManualClock, type ManualClock } from "@stackwright/base/testing";
import { expect, test } from "vitest";
import { assertCode, nextUpsert } from "../../testing/assertions.ts";
import { A1, HOME, sample } from "../../testing/samples.ts";
import { makeScratchDirectory } from "../../testing/scratch-directory.ts";
import type { StorageBackend } from "../../types.ts";
import { createSqliteStorage, type SqliteStorage } from "../sqlite.ts";
import { MIGRATIONS, migrate } from "./schema.ts";

const HOUR = 3_600_000;
/** How often a history of an hour is looked at. */
const CHECK = HOUR / 8;

/**
 * Lets the timer run at least once more. It is planned again when the worker has answered, and the worker answers in the order of
 * its calls.
 */
async function letTimerRun(clock: ManualClock, storage: SqliteStorage): Promise<void> {
  for (let count = 0; count < 2; count += 1) {
    await storage.historySize();
    await clock.advance(CHECK);
  }
}

/** Replaces a resource so often. */
async function writeTimes(storage: StorageBackend, name: string, times: number): Promise<void> {
  let stored = sample(A1, HOME, name);
  for (let count = 0; count < times; count += 1) stored = await storage.writeCAS(stored);
}

const eventsOf = async (storage: SqliteStorage): Promise<number> =>
  (await storage.historySize()).events;

test("history that is too old is forgotten, also where nothing is written any more", async () => {
  await using scratch = await makeScratchDirectory();
  const clock = createManualClock();
  const options = { directory: scratch.path, clock, history: { maxAgeMs: HOUR } };
  await using storage = await createSqliteStorage(options);
  using watch = await storage.watchList(A1, HOME, "");
  await writeTimes(storage, "old", 3);
  const { cursor } = (await nextEvents(watch, 3)) ?? {};
  await clock.advance(HOUR / 2);
  await writeTimes(storage, "new", 2);
  expect(await storage.historySize()).toMatchObject({
    events: 5,
    oldestMs: clock.wallMs() - HOUR / 2,
  });
  await clock.advance(HOUR * 0.6);
  await letTimerRun(clock, storage);
  expect(await eventsOf(storage)).toBe(2);
  // The watch that is open is not concerned; one that resumes from before is refused.
  await writeTimes(storage, "last", 1);
  expect((await nextEvents(watch, 3))?.resource.id.name).toBe("last");
  using resumed = await storage.watchList(A1, HOME, "", { resumeAfter: cursor ?? "" });
  expect((await nextUpsert(resumed)).id.name).toBe("new");
  await clock.advance(2 * HOUR);
  await letTimerRun(clock, storage);
  expect(await eventsOf(storage)).toBe(0);
  using refused = await storage.watchList(A1, HOME, "", { resumeAfter: cursor ?? "" });
  await assertCode(refused.next(), "STORAGE_WATCH_CLOSED");
  expect(await storage.list("strong", A1, HOME, "")).toHaveLength(3);
});

test("processes that only live for one write leave nothing behind that is too old", async () => {
  await using scratch = await makeScratchDirectory();
  const clock = createManualClock();
  const options = { directory: scratch.path, clock, history: { maxAgeMs: HOUR } };
  for (const name of ["a", "b", "c"]) {
    await using storage = await createSqliteStorage(options);
    await writeTimes(storage, name, 1);
    clock.skip(HOUR / 2);
  }
  await using storage = await createSqliteStorage(options);
  await letTimerRun(clock, storage);
  // The first two are an hour old and more, the third is not.
  expect(await eventsOf(storage)).toBe(1);
});

test("a clock that was ahead and is set back keeps no history beyond its age", async () => {
  await using scratch = await makeScratchDirectory();
  const manual = createManualClock();
  let offset = 1_000 * HOUR;
  const clock = { ...manual, wallMs: () => manual.wallMs() + offset };
  const options = { directory: scratch.path, clock, history: { maxAgeMs: HOUR } };
  await using storage = await createSqliteStorage(options);
  await writeTimes(storage, "ahead", 2);
  offset = 0;
  await writeTimes(storage, "right", 1);
  expect(await eventsOf(storage)).toBe(3);
  expect((await storage.historySize()).oldestMs).toBe(clock.wallMs());
  // Set back by seconds, as a time service does: nothing is dated again, and nothing is lost.
  offset = -5_000;
  await writeTimes(storage, "slow", 1);
  expect(await storage.historySize()).toMatchObject({ events: 4, oldestMs: manual.wallMs() });
  manual.skip(HOUR + 10_000);
  await letTimerRun(manual, storage);
  expect(await eventsOf(storage)).toBe(0);
});

test("a clock that is set back finds what it has dated ahead without a write too", async () => {
  await using scratch = await makeScratchDirectory();
  const manual = createManualClock();
  let offset = 1_000 * HOUR;
  const clock = { ...manual, wallMs: () => manual.wallMs() + offset };
  const options = { directory: scratch.path, clock, history: { maxAgeMs: HOUR } };
  await using storage = await createSqliteStorage(options);
  await writeTimes(storage, "ahead", 2);
  offset = 0;
  await letTimerRun(manual, storage);
  expect(await eventsOf(storage)).toBe(2);
  manual.skip(HOUR);
  await letTimerRun(manual, storage);
  expect(await eventsOf(storage)).toBe(0);
});

test("commits of a release without times count as made at the first open of this one", async () => {
  await using scratch = await makeScratchDirectory();
  const directory = join(scratch.path, "store");
  await mkdir(directory);
  const path = join(directory, "store.db");
  {
    // What an earlier release leaves: the layout before the times, with commits.
    const database = new DatabaseSync(path);
    migrate(database, MIGRATIONS.slice(0, 2));
    database.exec(`
      INSERT INTO event VALUES (1, 1, '1', x'00', 0), (2, 1, '2', x'00', 0);
      UPDATE store SET revision = 2;
    `);
    database.close();
  }
  await using reader = await createSqliteStorage({ directory, readOnly: true });
  expect(await reader.historySize()).toEqual({ events: 2, bytes: 2 });
  {
    const database = new DatabaseSync(path);
    const before = Date.now();
    migrate(database);
    const times = database.prepare("SELECT at FROM event ORDER BY revision").all();
    expect(times[0]?.["at"]).toBeNull();
    expect(Number(times[1]?.["at"])).toBeGreaterThanOrEqual(before - 1_000);
    database.close();
  }
});

test("a longest age has to be one", async () => {
  await using scratch = await makeScratchDirectory();
  for (const maxAgeMs of [0, -1, 1.5, Number.NaN]) {
    const options = { directory: scratch.path, history: { maxAgeMs } };
    await assertCode(createSqliteStorage(options), "STORAGE_INVALID_ARGUMENT");
  }
});

/** The last of the next events. */
async function nextEvents(
  watch: Awaited<ReturnType<StorageBackend["watchList"]>>,
  count: number,
): Promise<{ cursor?: string | undefined; resource: { id: { name: string } } } | undefined> {
  let last: Awaited<ReturnType<typeof nextUpsertEvent>> | undefined;
  for (let index = 0; index < count; index += 1) last = await nextUpsertEvent(watch);
  return last;
}

async function nextUpsertEvent(watch: Awaited<ReturnType<StorageBackend["watchList"]>>): Promise<{
  cursor?: string | undefined;
  resource: { id: { name: string } };
}> {
  const event = await watch.next();
  if (event.operation !== "upsert") throw new Error(`unexpected ${event.operation}`);
  return { cursor: event.cursor, resource: event.resource };
}

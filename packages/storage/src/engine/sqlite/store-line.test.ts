import { cp, mkdir, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { assertCode, assertSame, nextUpsert } from "../../testing/assertions.ts";
import { ForkedStorage } from "../../testing/forked/forked-storage.ts";
import { A1, HOME, sample } from "../../testing/samples.ts";
import { makeScratchDirectory, type ScratchDirectory } from "../../testing/scratch-directory.ts";
import type { WatchEvent } from "../../types.ts";
import { createSqliteStorage, type SqliteStorage } from "../sqlite.ts";

let scratch: ScratchDirectory;
let directory: string;
let copy: string;

beforeEach(async () => {
  scratch = await makeScratchDirectory();
  directory = join(scratch.path, "original");
  copy = join(scratch.path, "copy");
  await mkdir(copy, { mode: 0o700 });
});

afterEach(async () => {
  await scratch[Symbol.asyncDispose]();
});

/** Writes a resource and gives the cursor of that commit. */
async function writeWithCursor(storage: SqliteStorage, name: string): Promise<string> {
  using watch = await storage.watchList(A1, HOME, name, { endOfSnapshot: true });
  await watch.next();
  await storage.writeCAS(sample(A1, HOME, name));
  const event: WatchEvent = await watch.next();
  return event.cursor ?? "";
}

async function expectRefused(storage: SqliteStorage, cursor: string): Promise<void> {
  using watch = await storage.watchList(A1, HOME, "", { resumeAfter: cursor });
  await assertCode(watch.next(), "STORAGE_WATCH_CLOSED");
}

async function expectContinued(storage: SqliteStorage, cursor: string): Promise<void> {
  using watch = await storage.watchList(A1, HOME, "", { resumeAfter: cursor });
  const stored = await storage.writeCAS(sample(A1, HOME, "continued"));
  assertSame(await nextUpsert(watch), stored);
}

async function fill(at: string): Promise<string> {
  await using storage = await createSqliteStorage({ directory: at });
  return await writeWithCursor(storage, "web");
}

test("a restart continues the line", async () => {
  const cursor = await fill(directory);
  await (await createSqliteStorage({ directory })).close();
  await using storage = await createSqliteStorage({ directory });
  await expectContinued(storage, cursor);
});

test("a killed writer's store continues its line", async () => {
  const cursor = await fill(directory);
  const other = new ForkedStorage({
    module: new URL("../sqlite.ts", import.meta.url).href,
    factory: "createSqliteStorage",
    options: { directory },
  });
  await other.start();
  await other.kill();
  await using storage = await createSqliteStorage({ directory });
  await expectContinued(storage, cursor);
});

test("a directory under another name continues its line", async () => {
  const cursor = await fill(directory);
  const renamed = join(scratch.path, "renamed");
  await rename(directory, renamed);
  await using storage = await createSqliteStorage({ directory: renamed });
  await expectContinued(storage, cursor);
});

test("a copy of the whole directory starts a new line, and the original continues", async () => {
  const cursor = await fill(directory);
  await cp(directory, copy, { recursive: true });
  await using copied = await createSqliteStorage({ directory: copy });
  await using original = await createSqliteStorage({ directory });
  await expectRefused(copied, cursor);
  await expectContinued(original, cursor);
  expect(await copied.list("strong", A1, HOME, "")).toHaveLength(1);
});

test("a copy of the database alone starts a new line", async () => {
  const cursor = await fill(directory);
  await cp(join(directory, "store.db"), join(copy, "store.db"));
  await using copied = await createSqliteStorage({ directory: copy });
  await expectRefused(copied, cursor);
});

test("a copy never gives out a version that the original issued after it", async () => {
  await fill(directory);
  await cp(directory, copy, { recursive: true });
  const storage = await createSqliteStorage({ directory });
  const original = await storage.writeCAS(sample(A1, HOME, "later"));
  await storage.close();
  await using copied = await createSqliteStorage({ directory: copy });
  const twin = await copied.writeCAS(sample(A1, HOME, "later"));
  expect(twin.version).not.toBe(original.version);
  await assertCode(copied.writeCAS(original), "STORAGE_CAS_FAILURE");
});

test("an older state written into the same file starts a new line, each time above the last", async () => {
  await fill(directory);
  const file = join(directory, "store.db");
  const kept = join(copy, "store.db");
  await cp(file, kept);
  const versions: number[] = [];
  for (let round = 0; round < 3; round += 1) {
    const storage = await createSqliteStorage({ directory });
    const cursor = await writeWithCursor(storage, "lost");
    const [lost] = await storage.list("strong", A1, HOME, "lost");
    versions.push(Number(lost?.version));
    await storage.close();
    await cp(kept, file);
    const again = await createSqliteStorage({ directory });
    await expectRefused(again, cursor);
    await again.close();
    await cp(kept, file);
  }
  expect(new Set(versions).size).toBe(3);
  expect(versions).toEqual(versions.toSorted((a, b) => a - b));
});

test("a store without its mark starts a new line once", async () => {
  const cursor = await fill(directory);
  await rm(join(directory, "store.line"));
  const storage = await createSqliteStorage({ directory });
  await expectRefused(storage, cursor);
  const next = await writeWithCursor(storage, "next");
  await storage.close();
  await using again = await createSqliteStorage({ directory });
  await expectContinued(again, next);
});

test("two stores made from one backup have lines of their own", async () => {
  const storage = await createSqliteStorage({ directory });
  await storage.writeCAS(sample(A1, HOME, "web"));
  await storage.backup(join(copy, "store.db"));
  await storage.close();
  const second = join(scratch.path, "second");
  await mkdir(second, { mode: 0o700 });
  await cp(join(copy, "store.db"), join(second, "store.db"));
  await using one = await createSqliteStorage({ directory: copy });
  await using other = await createSqliteStorage({ directory: second });
  const cursor = await writeWithCursor(one, "one");
  await writeWithCursor(other, "other");
  await expectRefused(other, cursor);
});

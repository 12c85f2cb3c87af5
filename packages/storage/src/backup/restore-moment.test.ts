import { rm } from "node:fs/promises";
import { join } from "node:path";
import { createManualClock, type ManualClock } from "@stackwright/base/testing";
import { afterEach, beforeEach, expect, test } from "vitest";
import { createDirectoryBlobs } from "../blob/index.ts";
import type { BlobStore } from "../blob/types.ts";
import { createSqliteStorage, type SqliteStorage } from "../engine/sqlite.ts";
import { assertCode } from "../testing/assertions.ts";
import { BLOB_KINDS, checkRestoreMoments } from "../testing/backup/restore-moments.ts";
import { runSeeds } from "../testing/run-scale.ts";
import { A1, EVERYWHERE, HOME, payload, sample } from "../testing/samples.ts";
import { makeScratchDirectory, type ScratchDirectory } from "../testing/scratch-directory.ts";
import type { RestorePoint } from "./later-commits.ts";
import { type RestoredBackup, restoreBackup, restoreTargetOf } from "./restore-backup.ts";
import { writeBackup } from "./write-backup.ts";

let scratch: ScratchDirectory;
let clock: ManualClock;
let storage: SqliteStorage;
let blobs: BlobStore;
let directory: string;

beforeEach(async () => {
  scratch = await makeScratchDirectory();
  clock = createManualClock(Date.parse("2026-03-01T12:00:00Z"));
  storage = await createSqliteStorage({ directory: join(scratch.path, "store"), clock });
  blobs = await createDirectoryBlobs({ directory: join(scratch.path, "blobs") });
  directory = join(scratch.path, "backup");
});

afterEach(async () => {
  await storage.close();
  await blobs.close();
  await scratch[Symbol.asyncDispose]();
});

/** Writes a resource a second later than what was written before. */
async function write(name: string, metadata: Record<string, string> = {}): Promise<number> {
  clock.skip(1_000);
  const { version } = await storage.writeCAS(sample(A1, HOME, name, { metadata }));
  return Number(version);
}

const at = (text: string): RestorePoint => ({ timeMs: Date.parse(`2026-03-01T${text}Z`) });

async function restore(
  point: RestorePoint,
  target: SqliteStorage,
  signal?: AbortSignal,
): Promise<RestoredBackup> {
  return restoreBackup({
    directory,
    target: restoreTargetOf(target),
    blobs,
    later: { point, history: storage, blobs, kinds: BLOB_KINDS },
    ...(signal !== undefined && { signal }),
  });
}

let targets = 0;
const openTarget = async (): Promise<SqliteStorage> => {
  targets += 1;
  return createSqliteStorage({ directory: join(scratch.path, `target ${targets}`) });
};

async function namesIn(target: SqliteStorage): Promise<readonly string[]> {
  const found = await target.list("strong", A1, EVERYWHERE, "");
  return found.map(({ id }) => id.name).toSorted();
}

test("a restore of an sqlite store to a later moment is the store of then", async () => {
  for (const seed of runSeeds(1)) {
    const folder = join(scratch.path, `store ${seed}`);
    await using other = await createSqliteStorage({ directory: folder, clock });
    const nowMs = async (): Promise<number> => {
      clock.skip(10);
      return clock.wallMs() - 5;
    };
    await checkRestoreMoments({ storage: other, blobs, scratch: scratch.path, seed, nowMs });
  }
});

test("a time is that of the last step before it, and none before the backup", async () => {
  await write("first");
  await writeBackup({ storage, blobs, directory });
  await write("second");
  clock.skip(1_000);
  await storage.batch(
    ["third", "fourth"].map((name) => ({ kind: "write", resource: sample(A1, HOME, name) })),
  );
  for (const [time, names] of [
    ["12:00:01", ["first"]],
    ["12:00:01.999", ["first"]],
    ["12:00:02", ["first", "second"]],
    ["12:00:03", ["first", "fourth", "second", "third"]],
    ["13:00:00", ["first", "fourth", "second", "third"]],
  ] as const) {
    await using target = await openTarget();
    await restore(at(time), target);
    expect(await namesIn(target), time).toEqual(names);
  }
  await using target = await openTarget();
  const early = await assertCode(restore(at("12:00:00.999"), target), "STORAGE_INVALID_ARGUMENT");
  expect(early.message).toContain("the backup is of 2026-03-01T12:00:01.000Z, which is later");
  expect(await namesIn(target)).toEqual([]);
});

test("a history without times is gone back to by revisions alone", async () => {
  await writeBackup({ storage, blobs, directory });
  const revision = await write("first");
  // As a reader sees it beside a release that dates nothing.
  const undated = {
    readCommits: async (after: number) => {
      const page = await storage.readCommits(after);
      const commits = page.commits.map((commit) => ({ ...commit, atMs: undefined, group: "" }));
      return { ...page, commits };
    },
  };
  const restoreTo = async (point: RestorePoint, target: SqliteStorage) =>
    restoreBackup({
      directory,
      target: restoreTargetOf(target),
      blobs,
      later: { point, history: undated, blobs, kinds: BLOB_KINDS },
    });
  await using target = await openTarget();
  const refused = restoreTo(at("13:00:00"), target);
  expect((await assertCode(refused, "STORAGE_INVALID_ARGUMENT")).message).toContain("no times");
  await restoreTo({ revision }, target);
  expect(await namesIn(target)).toEqual(["first"]);
});

test("history that is forgotten, or of another line, restores nothing and says so", async () => {
  const first = await write("first");
  await writeBackup({ storage, blobs, directory });
  const second = await write("second");
  const third = await write("third");
  await storage.compactHistory(1);
  await using target = await openTarget();
  const forgotten = await assertCode(
    restore({ revision: third }, target),
    "STORAGE_INVALID_ARGUMENT",
  );
  expect(forgotten.message).toContain(
    `begins behind revision ${second}, and the backup ends at ${first}`,
  );
  expect(forgotten.details.field).toBe("history");

  await rm(directory, { recursive: true });
  await writeBackup({ storage, blobs, directory });
  await using replaced = await storage.restore();
  await replaced.commit();
  const other = await assertCode(restore({ revision: third }, target), "STORAGE_INVALID_ARGUMENT");
  expect(other.message).toContain("begin a new line");
  expect(await namesIn(target)).toEqual([]);
});

test("blobs from behind the backup are copied, and named where they are lost", async () => {
  await writeBackup({ storage, blobs, directory });
  const { sha256: kept } = await blobs.write(payload("kept").value, { owner: "billing" });
  const lost = "0".repeat(64);
  await write("with", { blob: kept });
  const revision = await write("without", { blob: lost });
  await using target = await openTarget();
  await using copies = await createDirectoryBlobs({ directory: join(scratch.path, "copies") });
  const result = await restoreBackup({
    directory,
    target: restoreTargetOf(target),
    blobs: copies,
    later: { point: { revision }, history: storage, blobs, kinds: BLOB_KINDS },
  });
  expect(result).toMatchObject({ revision, resources: 2, blobs: 1 });
  expect(result.lost).toEqual([
    expect.stringMatching(`blob ${lost} is missing, to which .*"without"`),
  ]);
  expect(await copies.find([kept])).toEqual([{ sha256: kept, size: 4 }]);
  for await (const { owners } of copies.list()) expect(owners).toEqual(["billing"]);
});

test("a restore that is given up, or whose history goes away, leaves an empty store, and can be repeated", async () => {
  await writeBackup({ storage, blobs, directory });
  await write("first");
  const revision = await write("second");
  await using target = await openTarget();
  await expect(
    restore({ revision }, target, AbortSignal.abort(new Error("enough"))),
  ).rejects.toThrow("enough");
  let reads = 0;
  const failing = {
    readCommits: async (after: number) => {
      reads += 1;
      // The history is there when it is looked through, and forgotten when its contents are read.
      if (reads === 4) await storage.compactHistory(0);
      return storage.readCommits(after);
    },
  };
  const forgotten = restoreBackup({
    directory,
    target: restoreTargetOf(target),
    blobs,
    later: { point: { revision }, history: failing, blobs, kinds: BLOB_KINDS },
  });
  await assertCode(forgotten, "STORAGE_INVALID_ARGUMENT");
  expect(await namesIn(target)).toEqual([]);
  await rm(directory, { recursive: true });
  await writeBackup({ storage, blobs, directory });
  await restore({ revision }, target);
  expect(await namesIn(target)).toEqual(["first", "second"]);
});

test("versions and cursors of the store of then are refused", async () => {
  await writeBackup({ storage, blobs, directory });
  const revision = await write("first");
  using watch = await storage.watchList(A1, HOME, "", { endOfSnapshot: true });
  await watch.next();
  const { cursor = "" } = await watch.next();
  await using target = await openTarget();
  await restore({ revision }, target);
  await assertCode(
    target.writeCAS(sample(A1, HOME, "first", { version: String(revision) })),
    "STORAGE_CAS_FAILURE",
  );
  using resumed = await target.watchList(A1, HOME, "", { resumeAfter: cursor });
  await assertCode(resumed.next(), "STORAGE_WATCH_CLOSED");
});

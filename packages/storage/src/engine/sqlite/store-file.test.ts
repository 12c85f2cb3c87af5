import { once } from "node:events";
import { existsSync } from "node:fs";
import { chmod, mkdir, open, readFile, stat, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { Worker } from "node:worker_threads";
import type { Logger } from "@stackwright/base/logger";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { assertCode, assertSame, nextUpsert } from "../../testing/assertions.ts";
import { ForkedStorage } from "../../testing/forked/forked-storage.ts";
import { A1, HOME, payload, sample, sampleId } from "../../testing/samples.ts";
import { makeScratchDirectory, type ScratchDirectory } from "../../testing/scratch-directory.ts";
import { createSqliteStorage } from "../sqlite.ts";
import { openForWriting } from "./open-database.ts";
import { MIGRATIONS, migrate, pragmaNumber } from "./schema.ts";
import { WorkerClient } from "./worker-client.ts";

let scratch: ScratchDirectory;
let directory: string;

beforeEach(async () => {
  scratch = await makeScratchDirectory();
  directory = scratch.path;
});

afterEach(async () => {
  await scratch[Symbol.asyncDispose]();
});

describe("the directory of a sqlite store", () => {
  test("is made, and closed to other users", async () => {
    const inner = join(directory, "deep", "er");
    await using storage = await createSqliteStorage({ directory: inner });
    await storage.writeCAS(sample(A1, HOME, "web"));
    expect((await stat(inner)).mode & 0o777).toBe(0o700);
  });

  test("is narrowed when it is empty or a store, and refused when it holds other files", async () => {
    await chmod(directory, 0o755);
    await (await createSqliteStorage({ directory })).close();
    expect((await stat(directory)).mode & 0o777).toBe(0o700);
    const foreign = join(directory, "foreign");
    await mkdir(foreign, { mode: 0o755 });
    await chmod(foreign, 0o755);
    await writeFile(join(foreign, "letter.txt"), "dear");
    await assertCode(createSqliteStorage({ directory: foreign }), "STORAGE_INVALID_ARGUMENT");
  });
});

describe("the writer lock", () => {
  test("refuses a second writer in this process and names the holder", async () => {
    await using first = await createSqliteStorage({ directory });
    const error = await assertCode(createSqliteStorage({ directory }), "STORAGE_LOCKED");
    expect(error.details.holder?.pid).toBe(process.pid);
    expect(error.message).toContain(String(process.pid));
    // Neither the attempt nor its failure loosens the lock.
    await assertCode(createSqliteStorage({ directory }), "STORAGE_LOCKED");
    await first.writeCAS(sample(A1, HOME, "web"));
  });

  test("refuses a writer in another process, until it is killed", async () => {
    const other = new ForkedStorage({
      module: new URL("../sqlite.ts", import.meta.url).href,
      factory: "createSqliteStorage",
      options: { directory },
    });
    await other.start();
    const error = await assertCode(createSqliteStorage({ directory }), "STORAGE_LOCKED");
    expect(error.details.holder?.pid).not.toBe(process.pid);
    const kept = await other.writeCAS(sample(A1, HOME, "web"));
    await other.kill();
    await using storage = await createSqliteStorage({ directory });
    assertSame(await storage.read("strong", kept.id), kept);
  });

  test("is free again after a close", async () => {
    await (await createSqliteStorage({ directory })).close();
    await (await createSqliteStorage({ directory })).close();
  });
});

describe.each([
  ["with a thread", { readOnly: true }],
  ["inline", { readOnly: true, inline: true }],
])("a read-only instance %s", (_, reading) => {
  test("reads, lists and watches beside the writer", async () => {
    await using writer = await createSqliteStorage({ directory });
    const old = await writer.writeCAS(sample(A1, HOME, "old"));
    await using reader = await createSqliteStorage({ directory, ...reading, pollMs: 10 });
    assertSame(await reader.read("strong", old.id), old);
    using watch = await reader.watchList(A1, HOME, "");
    assertSame(await nextUpsert(watch), old);
    for (let count = 0; count < 20; count += 1) {
      const stored = await writer.writeCAS(sample(A1, HOME, `new${count}`));
      assertSame(await reader.read("strong", stored.id), stored);
      const seen = await nextUpsert(watch);
      assertSame(seen, stored);
      expect(await reader.list("strong", A1, HOME, "")).toHaveLength(count + 2);
    }
  });

  test("closes its watches when the history it needs is gone or the content replaced", async () => {
    await using writer = await createSqliteStorage({ directory });
    await using reader = await createSqliteStorage({ directory, ...reading, pollMs: 10 });
    using watch = await reader.watchList(A1, HOME, "");
    await using restore = await writer.restore();
    await restore.commit();
    await assertCode(watch.next(), "STORAGE_WATCH_CLOSED");
  });

  test("closes its watches when commits were compacted before it read them", async () => {
    await using writer = await createSqliteStorage({ directory });
    await using reader = await createSqliteStorage({ directory, ...reading, pollMs: 200 });
    using watch = await reader.watchList(A1, HOME, "");
    // The first look, which only takes the position, was before the watch was there.
    for (let count = 0; count < 20; count += 1) {
      await writer.writeCAS(sample(A1, HOME, `r${count}`));
    }
    await writer.compactHistory(1);
    await assertCode(watch.next(), "STORAGE_WATCH_CLOSED");
    using fresh = await reader.watchList(A1, HOME, "r1");
    await nextUpsert(fresh);
  });

  test("reads a store of the first layout, which no writer of this release has opened", async () => {
    const database = new DatabaseSync(join(directory, "store.db"));
    database.exec("PRAGMA journal_mode = WAL");
    migrate(database, MIGRATIONS.slice(0, 1));
    database.close();
    await using reader = await createSqliteStorage({ directory, ...reading });
    expect(await reader.list("strong", A1, HOME, "")).toEqual([]);
  });

  test("refuses writes", async () => {
    await using writer = await createSqliteStorage({ directory });
    const stored = await writer.writeCAS(sample(A1, HOME, "web"));
    await using reader = await createSqliteStorage({ directory, ...reading });
    await assertCode(reader.writeCAS(stored), "STORAGE_READ_ONLY");
    await assertCode(reader.deleteCAS(stored.id, stored.version), "STORAGE_READ_ONLY");
    await assertCode(reader.restore(), "STORAGE_READ_ONLY");
    assertSame(await writer.read("strong", stored.id), stored);
  });

  test("reads a store without a writer, and refuses a directory without one", async () => {
    const empty = join(directory, "empty");
    await mkdir(empty);
    const opening = createSqliteStorage({ directory: empty, ...reading });
    await assertCode(opening, "STORAGE_INVALID_ARGUMENT");
    const writer = await createSqliteStorage({ directory });
    const stored = await writer.writeCAS(sample(A1, HOME, "web"));
    await writer.close();
    await using reader = await createSqliteStorage({ directory, ...reading });
    assertSame(await reader.read("strong", stored.id), stored);
  });

  test("ends once, and answers nothing after that", async () => {
    await (await createSqliteStorage({ directory })).close();
    const reader = await createSqliteStorage({ directory, ...reading });
    await reader.close();
    await reader.close();
    await assertCode(reader.list("strong", A1, HOME, ""), "STORAGE_INCONSISTENT");
  });
});

describe("a store that is written to inline", () => {
  test("leaves nothing open where it cannot be opened", async () => {
    await (await createSqliteStorage({ directory })).close();
    const damaged = new DatabaseSync(join(directory, "store.db"));
    damaged.exec("DROP TABLE history");
    damaged.close();
    const opening = createSqliteStorage({ directory, inline: true, history: { events: 5 } });
    await expect(opening).rejects.toThrow();
    // The last connection takes it away.
    expect(existsSync(join(directory, "store.db-wal"))).toBe(false);
  });

  test("lets others run while a caller reads until something changes", async () => {
    await using storage = await createSqliteStorage({ directory, inline: true });
    const { id } = sample(A1, HOME, "web");
    setTimeout(() => void storage.writeCAS(sample(A1, HOME, "web")), 0);
    while ((await storage.list("strong", A1, HOME, "web")).length === 0);
    expect((await storage.read("strong", id)).id).toEqual(id);
  });

  test("has a thread of its own where the database is large", async () => {
    const started = vi.spyOn(WorkerClient, "start");
    await (await createSqliteStorage({ directory, inline: true })).close();
    expect(started).not.toHaveBeenCalled();
    const grown = new DatabaseSync(join(directory, "store.db"));
    grown.exec("CREATE TABLE filler (body); INSERT INTO filler VALUES (zeroblob(67108864))");
    grown.close();
    await (await createSqliteStorage({ directory, inline: true })).close();
    expect(started).toHaveBeenCalledOnce();
    const behind = join(directory, "behind");
    await (await createSqliteStorage({ directory: behind, inline: true })).close();
    expect(started).toHaveBeenCalledOnce();
    // A writer that died beside a reader leaves a log that may be much larger than the database.
    await writeFile(join(behind, "store.db-wal"), "");
    await truncate(join(behind, "store.db-wal"), 67_108_864);
    await (await createSqliteStorage({ directory: behind, inline: true })).close();
    expect(started).toHaveBeenCalledTimes(2);
  });

  test("keeps all others out", async () => {
    await using storage = await createSqliteStorage({ directory, inline: true });
    for (const inline of [true, false]) {
      await assertCode(createSqliteStorage({ directory, inline }), "STORAGE_LOCKED");
      const other = new ForkedStorage({
        module: new URL("../sqlite.ts", import.meta.url).href,
        factory: "createSqliteStorage",
        options: { directory, inline },
      });
      await assertCode(other.start(), "STORAGE_LOCKED");
      await other.kill();
    }
    await storage.writeCAS(sample(A1, HOME, "web"));
  });

  test("finishes what was written before it was closed, beside a reader that continues", async () => {
    const storage = await createSqliteStorage({ directory, inline: true });
    const names = Array.from({ length: 20 }, (_, index) => `r${index}`);
    for (const name of names) await storage.writeCAS(sample(A1, HOME, name));
    await using reader = await createSqliteStorage({ directory, readOnly: true, inline: true });
    const first = await reader.listPage("strong", A1, HOME, "", { limit: 5 });
    const writing = storage.writeCAS(sample(A1, HOME, "last"));
    await storage.close();
    const { id } = await writing;
    // The view of the reader keeps the log.
    expect((await stat(join(directory, "store.db-wal"))).size).toBeGreaterThan(0);
    const { continuation } = first;
    const rest = await reader.listPage("strong", A1, HOME, "", {
      ...(continuation !== undefined && { continueAfter: continuation }),
    });
    expect(rest.resources).toHaveLength(15);
    await using again = await createSqliteStorage({ directory, inline: true });
    expect((await again.read("strong", id)).id).toEqual(id);
  });
});

describe("a backup", () => {
  test("is complete although the store is written to, and a line of its own", async () => {
    await using storage = await createSqliteStorage({ directory });
    const before = await Promise.all(
      Array.from({ length: 300 }, (_, index) =>
        storage.writeCAS(sample(A1, HOME, `old${index}`, { data: payload("x".repeat(2_000)) })),
      ),
    );
    const target = join(directory, "copy");
    await mkdir(target, { mode: 0o700 });
    const running = { backup: true };
    const backing = storage.backup(join(target, "store.db")).finally(() => {
      running.backup = false;
    });
    let written = 0;
    while (running.backup) {
      await storage.writeCAS(sample(A1, HOME, `new${written}`));
      written += 1;
    }
    await backing;
    expect((await stat(join(target, "store.db"))).mode & 0o777).toBe(0o600);

    await using copy = await createSqliteStorage({ directory: target, integrity: "full" });
    for (const resource of before) assertSame(await copy.read("strong", resource.id), resource);
    // Versions that the original gives out from now on are never given out by the copy.
    const original = await storage.writeCAS(sample(A1, HOME, "after"));
    const other = await copy.writeCAS(sample(A1, HOME, "after"));
    expect(Number(other.version)).toBeGreaterThan(Number(original.version) + 1_000_000);
  });
});

describe("opening a damaged or foreign file", () => {
  test("refuses another application's database and a file that is none", async () => {
    const foreign = new DatabaseSync(join(directory, "store.db"));
    foreign.exec("CREATE TABLE letters (text TEXT)");
    foreign.close();
    await assertCode(createSqliteStorage({ directory }), "STORAGE_SCHEMA");
    await writeFile(join(directory, "store.db"), "no database".repeat(1_000));
    await assertCode(createSqliteStorage({ directory }), "STORAGE_CORRUPT");
  });

  test("refuses a layout of a newer release", async () => {
    await (await createSqliteStorage({ directory })).close();
    const database = new DatabaseSync(join(directory, "store.db"));
    database.exec("PRAGMA user_version = 99");
    database.close();
    await assertCode(createSqliteStorage({ directory }), "STORAGE_SCHEMA");
    await assertCode(createSqliteStorage({ directory, readOnly: true }), "STORAGE_SCHEMA");
  });

  test("refuses a page that was overwritten", async () => {
    const storage = await createSqliteStorage({ directory });
    for (let count = 0; count < 50; count += 1) {
      const data = payload("x".repeat(3_000));
      await storage.writeCAS(sample(A1, HOME, `r${count}`, { data }));
    }
    await storage.close();
    const file = await open(join(directory, "store.db"), "r+");
    for (let page = 4; page < 14; page += 1) {
      await file.write(Buffer.alloc(64, 0xee), 0, 64, page * 4096);
    }
    await file.close();
    await assertCode(createSqliteStorage({ directory }), "STORAGE_CORRUPT");
  });

  test.each([false, true])(
    "fails lists alone when it was open by then (inline: %s)",
    async (inline) => {
      const filling = await createSqliteStorage({ directory });
      const data = payload("x".repeat(3_000));
      for (let count = 0; count < 50; count += 1) {
        await filling.writeCAS(sample(A1, HOME, `r${count}`, { data }));
      }
      await filling.close();
      const storage = await createSqliteStorage({ directory, inline });
      const path = join(directory, "store.db");
      const { size } = await stat(path);
      const file = await open(path, "r+");
      for (let at = 4 * 4096; at < size; at += 4096)
        await file.write(Buffer.alloc(64, 0xee), 0, 64, at);
      await file.close();
      await assertCode(storage.list("strong", A1, HOME, ""), "STORAGE_CORRUPT");
      await assertCode(storage.watchList(A1, HOME, ""), "STORAGE_CORRUPT");
      // Nothing of the failed scans is left, so the store can be closed and its lock is free.
      await storage.close();
      await assertCode(createSqliteStorage({ directory, inline }), "STORAGE_CORRUPT");
    },
  );

  test("notices a flipped bit in a body", async () => {
    const storage = await createSqliteStorage({ directory });
    const marked = sample(A1, HOME, "web", { data: payload("find-this-text") });
    const stored = await storage.writeCAS(marked);
    await storage.close();
    const path = join(directory, "store.db");
    const bytes = await readFile(path);
    for (let at = bytes.indexOf("find-this"); at >= 0; at = bytes.indexOf("find-this", at)) {
      bytes.write("lose", at);
    }
    await writeFile(path, bytes);
    await using reopened = await createSqliteStorage({ directory });
    await assertCode(reopened.read("strong", stored.id), "STORAGE_CORRUPT");
  });

  test("recovers a damaged log to the commits before the damage, and says so", async () => {
    const other = new ForkedStorage({
      module: new URL("../sqlite.ts", import.meta.url).href,
      factory: "createSqliteStorage",
      options: { directory },
    });
    await other.start();
    for (let count = 0; count < 30; count += 1) {
      await other.writeCAS(sample(A1, HOME, `r${count}`, { data: payload("x".repeat(5_000)) }));
    }
    await other.kill();
    const log = await open(join(directory, "store.db-wal"), "r+");
    const { size } = await log.stat();
    await log.write(Buffer.alloc(16, 0xee), 0, 16, Math.floor(size * 0.6));
    await log.close();

    const warnings: object[] = [];
    const logger: Logger = {
      debug: () => undefined,
      info: () => undefined,
      warn: (data) => void warnings.push(data),
      error: () => undefined,
    };
    await using storage = await createSqliteStorage({ directory, logger });
    expect(warnings).toHaveLength(1);
    const names = (await storage.list("strong", A1, HOME, "")).map((found) => found.id.name);
    expect(names.length).toBeLessThan(30);
    expect(names.length).toBeGreaterThan(0);
    const prefix = Array.from({ length: names.length }, (_, index) => `r${index}`);
    expect(new Set(names)).toEqual(new Set(prefix));
  });
});

describe("the database of a writer", () => {
  test("syncs every commit", () => {
    const { database } = openForWriting(directory, "auto");
    const FULL = 2;
    expect(pragmaNumber(database, "synchronous")).toBe(FULL);
    expect(database.prepare("PRAGMA journal_mode").get()).toMatchObject({ journal_mode: "wal" });
    database.close();
  });
});

describe("a store whose thread ends", () => {
  test("says that the result of pending writes is unknown, and closes its watches", async () => {
    const started = once(process, "worker") as Promise<[Worker]>;
    const storage = await createSqliteStorage({ directory });
    const [worker] = await started;
    using watch = await storage.watchList(A1, HOME, "");
    const pending = assertCode(storage.writeCAS(sample(A1, HOME, "web")), "STORAGE_INCONSISTENT");
    await worker.terminate();
    expect((await pending).details.outcome).toBe("unknown");
    await assertCode(watch.next(), "STORAGE_WATCH_CLOSED");
    const later = storage.read("strong", sampleId(A1, HOME, "web"));
    await assertCode(later, "STORAGE_INCONSISTENT");
    await storage.close();
    // Nothing keeps the next one from opening.
    await (await createSqliteStorage({ directory })).close();
  });
});

describe("migrations", () => {
  const steps = [
    "CREATE TABLE first (id INTEGER)",
    "CREATE TABLE second (id INTEGER); INSERT INTO first VALUES (2)",
  ];

  test("run once each, and those of a step that fails leave nothing behind", () => {
    using database = new DatabaseSync(":memory:");
    migrate(database, steps.slice(0, 1));
    const broken = [...steps.slice(0, 1), "INSERT INTO first VALUES (1); SELECT * FROM nothing"];
    expect(() => migrate(database, broken)).toThrow("nothing");
    expect(database.prepare("SELECT count(*) AS count FROM first").get()?.count).toBe(0);
    migrate(database, steps);
    migrate(database, steps);
    expect(database.prepare("SELECT id FROM first").all()).toHaveLength(1);
  });
});

describe("the history of a store", () => {
  test("stays within its bounds", async () => {
    const storage = await createSqliteStorage({ directory, history: { events: 100 } });
    let stored = await storage.writeCAS(sample(A1, HOME, "web"));
    for (let count = 0; count < 1_000; count += 1) stored = await storage.writeCAS(stored);
    await storage.compactHistory(10);
    await storage.close();
    using database = new DatabaseSync(join(directory, "store.db"), { readOnly: true });
    expect(database.prepare("SELECT count(*) AS count FROM event").get()?.count).toBe(10);
  });
});

describe("a history of large commits", () => {
  test("loses no more than its bytes ask for, and is read in bounded pages", async () => {
    const history = { bytes: 1_000_000 };
    await using storage = await createSqliteStorage({ directory, history });
    await using reader = await createSqliteStorage({ directory, readOnly: true, pollMs: 10 });
    using watch = await storage.watchList(A1, HOME, "");
    using follower = await reader.watchList(A1, HOME, "");
    let stored = await storage.writeCAS(sample(A1, HOME, "web"));
    await watch.next();
    const cursors: string[] = [];
    for (let count = 0; count < 30; count += 1) {
      stored = await storage.writeCAS({ ...stored, data: payload("x".repeat(100_000)) });
      cursors.push((await watch.next()).cursor ?? "");
      await follower.next();
    }
    using resumed = await storage.watchList(A1, HOME, "", { resumeAfter: cursors.at(-8) ?? "" });
    const seen = [];
    for (let count = 0; count < 7; count += 1) seen.push((await nextUpsert(resumed)).version);
    expect(seen.at(-1)).toBe(stored.version);
  });
});

describe("a store that is opened and closed many times", () => {
  test("does not grow, and continues with its versions", async () => {
    let last = 0;
    let size = 0;
    for (let round = 0; round < 10; round += 1) {
      const storage = await createSqliteStorage({ directory, history: { events: 10 } });
      const id = sampleId(A1, HOME, "web");
      const before = await storage.read("strong", id).catch(() => undefined);
      const stored = await storage.writeCAS(before ?? sample(A1, HOME, "web"));
      expect(Number(stored.version)).toBeGreaterThan(last);
      last = Number(stored.version);
      await storage.close();
      const { size: now } = await stat(join(directory, "store.db"));
      if (round > 2) expect(now).toBe(size);
      size = now;
    }
  });
});

import { readFile, rm, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { startServer } from "@stackwright/proto/grpc";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { createDirectoryBlobs, createSqliteBlobs } from "../../blob/index.ts";
import type { Resource } from "../../resource.ts";
import { assertCode, assertSame } from "../../testing/assertions.ts";
import {
  checkDamagedDeletion,
  checkDamageIsolation,
} from "../../testing/backup/damage-isolation.ts";
import { A1, HOME, payload, sample } from "../../testing/samples.ts";
import { makeScratchDirectory, type ScratchDirectory } from "../../testing/scratch-directory.ts";
import { createRemoteStorage, createStorageService } from "../remote.ts";
import { createSqliteStorage } from "../sqlite.ts";

let scratch: ScratchDirectory;
let directory: string;

beforeEach(async () => {
  scratch = await makeScratchDirectory();
  directory = scratch.path;
});

afterEach(async () => {
  await scratch[Symbol.asyncDispose]();
});

/** Stores three resources; the content of the second one decays. */
async function storeWithDamage(): Promise<{ readonly version: string }> {
  const storage = await createSqliteStorage({ directory });
  await storage.writeCAS(sample(A1, HOME, "api"));
  const { version } = await storage.writeCAS(
    sample(A1, HOME, "bad", { data: payload("find-this-text") }),
  );
  await storage.writeCAS(sample(A1, HOME, "web"));
  await storage.compactHistory(0);
  await storage.close();
  const path = join(directory, "store.db");
  const bytes = await readFile(path);
  for (let at = bytes.indexOf("find-this"); at >= 0; at = bytes.indexOf("find-this", at)) {
    bytes.write("lose", at);
  }
  await writeFile(path, bytes);
  return { version };
}

describe("a row whose content has decayed", () => {
  test("is found by a full check, which names it and the file", async () => {
    await storeWithDamage();
    const error = await assertCode(
      createSqliteStorage({ directory, integrity: "full" }),
      "STORAGE_CORRUPT",
    );
    expect(error.message).toContain(join(directory, "store.db"));
    expect(error.message).toContain('test a "bad" (default/local/default, version 2)');
    expect(error.message).toContain("backup");
  });

  test("is found by a full check in the history too", async () => {
    const storage = await createSqliteStorage({ directory });
    const stored = await storage.writeCAS(sample(A1, HOME, "web", { data: payload("old") }));
    await storage.writeCAS({ ...stored, data: payload("new") });
    await storage.close();
    const database = new DatabaseSync(join(directory, "store.db"));
    database.exec("UPDATE event SET checksum = checksum + 1 WHERE revision = 1");
    database.close();
    const opening = createSqliteStorage({ directory, integrity: "full" });
    const error = await assertCode(opening, "STORAGE_CORRUPT");
    expect(error.message).toContain("event 1 of the history");
  });

  test("is named by what reads it, spares what does not, and can be deleted or written", async () => {
    const { version } = await storeWithDamage();
    await using storage = await createSqliteStorage({ directory });
    const failures = [
      storage.list("strong", A1, HOME, ""),
      (async () => {
        await using snapshot = await storage.snapshot();
        for await (const _ of snapshot);
      })(),
      (async () => {
        using watch = await storage.watchList(A1, HOME, "");
        for (;;) await watch.next();
      })(),
    ];
    for (const failure of failures) {
      const error = await assertCode(failure, "STORAGE_CORRUPT");
      expect(error.message).toContain('"bad" (default/local/default, version 2)');
      expect(error.message).toContain(directory);
      expect(error.details.id?.name).toBe("bad");
    }
    expect(await storage.list("strong", A1, HOME, "a")).toHaveLength(1);

    const error = await assertCode(
      storage.read("strong", sample(A1, HOME, "bad", { uid: "" }).id),
      "STORAGE_CORRUPT",
    );
    const { id } = error.details;
    if (id === undefined) throw new Error("the error names no resource");
    // The version of the message repairs it.
    await storage.deleteCAS(id, version);
    expect(await storage.list("strong", A1, HOME, "")).toHaveLength(2);
    const again = await storage.writeCAS(sample(A1, HOME, "bad"));
    assertSame(await storage.read("strong", again.id), again);
  });
});

/** Changes the row of a resource as another program would. */
function changeRow({ version }: Resource): Promise<string> {
  using database = new DatabaseSync(join(directory, "store.db"));
  const { body } = database.prepare("SELECT body FROM resource WHERE version = ?").get(version) as {
    body: Uint8Array;
  };
  const changed = Buffer.from(body);
  changed.write("lose", changed.indexOf("find"));
  database.prepare("UPDATE resource SET body = ? WHERE version = ?").run(changed, version);
  return Promise.resolve(version);
}

describe("a damaged resource", () => {
  test("concerns nothing but itself, is exported and dropped", async () => {
    await using storage = await createSqliteStorage({ directory });
    await using blobs = await createDirectoryBlobs({ directory: join(directory, "blobs") });
    await checkDamageIsolation({ storage, blobs, scratch: directory, corrupt: changeRow });
  });

  test("can be deleted as such, which ends the watches of it alone", async () => {
    await using storage = await createSqliteStorage({ directory });
    await checkDamagedDeletion({ storage, corrupt: changeRow }, { othersGoOn: true });
  });

  test("is named over a connection", async () => {
    await using storage = await createSqliteStorage({ directory });
    const stored = await storage.writeCAS(sample(A1, HOME, "bad", { data: payload("find it") }));
    const web = await storage.writeCAS(sample(A1, HOME, "web"));
    await changeRow(stored);
    const service = createStorageService({ storage, authorize: () => ({ scopes: "all" }) });
    await using server = await startServer({ services: [service] });
    await using remote = await createRemoteStorage({ address: server.address });
    for (const fail of [
      async () => remote.read("strong", stored.id),
      async () => remote.list("strong", A1, HOME, "", { onDamaged: () => undefined }),
      async () => remote.listPage("strong", A1, HOME, ""),
    ]) {
      const { details, message } = await assertCode(fail(), "STORAGE_CORRUPT");
      expect(message).toContain('test a "bad"');
      expect(details.id?.name).toBe("bad");
    }
    assertSame(await remote.read("strong", web.id), web);
    expect(await remote.list("strong", A1, HOME, "w")).toHaveLength(1);
  });
});

/** Overwrites the inside of every page but the first. */
async function damagePages(path: string): Promise<void> {
  const bytes = await readFile(path);
  for (let page = 4096; page < bytes.length; page += 4096) bytes.fill(0xee, page, page + 64);
  await writeFile(path, bytes);
}

describe("a damaged file", () => {
  test("is named when it is opened, with advice, and by readers", async () => {
    const storage = await createSqliteStorage({ directory });
    for (let count = 0; count < 50; count += 1) {
      await storage.writeCAS(sample(A1, HOME, `r${count}`, { data: payload("x".repeat(3_000)) }));
    }
    await storage.close();
    const path = join(directory, "store.db");
    await damagePages(path);
    for (const options of [{}, { integrity: "full" as const }, { readOnly: true }]) {
      const error = await assertCode(
        createSqliteStorage({ directory, ...options }),
        "STORAGE_CORRUPT",
      );
      expect(error.message).toContain(path);
      expect(error.message).toContain("backup");
    }
  });

  test("is not taken for a failure that passes when it is met while the store is open", async () => {
    await using storage = await createSqliteStorage({ directory });
    const stored = await storage.writeCAS(sample(A1, HOME, "web"));
    // Another program empties a table's root page below the store.
    const path = join(directory, "store.db");
    using other = new DatabaseSync(path, { defensive: false });
    other.exec("PRAGMA writable_schema = ON");
    other.exec("UPDATE sqlite_schema SET rootpage = 1 WHERE name = 'event'");
    other.exec("PRAGMA schema_version = 1000");
    const error = await assertCode(storage.writeCAS(stored), "STORAGE_CORRUPT");
    expect(error.message).toContain(path);
    expect(error.retryable).toBe(false);
  });

  test("of blobs is named as well", async () => {
    await writeFile(join(directory, "blobs.db"), "no database".repeat(1_000));
    await using blobs = await createSqliteBlobs({ directory });
    const error = await assertCode(blobs.write(Buffer.from("x")), "STORAGE_CORRUPT");
    expect(error.message).toContain(join(directory, "blobs.db"));
  });

  test("of the lock is named as well", async () => {
    await writeFile(join(directory, "writer.lock"), "no database".repeat(1_000), { mode: 0o600 });
    const error = await assertCode(createSqliteStorage({ directory }), "STORAGE_CORRUPT");
    expect(error.message).toContain("writer.lock");
  });
});

describe("a store whose database is", () => {
  test.each([
    ["empty", async (path: string) => truncate(path)],
    ["gone", async (path: string) => rm(path)],
  ])("%s is refused, as a new one would know nothing of what was recorded", async (_, damage) => {
    await (await createSqliteStorage({ directory })).close();
    await damage(join(directory, "store.db"));
    for (const readOnly of [false, true]) {
      const error = await assertCode(
        createSqliteStorage({ directory, readOnly }),
        "STORAGE_CORRUPT",
      );
      expect(error.message).toContain(join(directory, "store.db"));
      expect(error.message).toContain("backup");
    }
  });

  test("gone together with its mark begins anew", async () => {
    await (await createSqliteStorage({ directory })).close();
    for (const name of ["store.db", "store.line"]) await rm(join(directory, name));
    await using storage = await createSqliteStorage({ directory });
    expect(await storage.list("strong", A1, HOME, "")).toEqual([]);
  });
});

test("a lock file with something in it is refused with what to do, which loses nothing", async () => {
  await (await createSqliteStorage({ directory })).close();
  const path = join(directory, "writer.lock");
  await writeFile(path, Buffer.alloc(1_000, 7));
  const error = await assertCode(createSqliteStorage({ directory }), "STORAGE_CORRUPT");
  expect(error.message).toContain(`${path} is damaged`);
  expect(error.message).toContain("delete it");
  await rm(path);
  await (await createSqliteStorage({ directory })).close();
});

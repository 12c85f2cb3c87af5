import { execFile } from "node:child_process";
import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { promisify } from "node:util";
import postgres from "postgres";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { assertCode, assertSame, nextUpsert } from "../../testing/assertions.ts";
import { A1, HOME, sample } from "../../testing/samples.ts";
import { createPostgresStorage, type PostgresStorage } from "../postgres.ts";

const run = promisify(execFile);

const { TEST_POSTGRES_URL: url, TEST_POSTGRES_BIN: bin } = process.env;

/** Writes a resource and gives the cursor of that commit. */
async function writeWithCursor(storage: PostgresStorage, name: string): Promise<string> {
  using watch = await storage.watchList(A1, HOME, name, { endOfSnapshot: true });
  await watch.next();
  await storage.writeCAS(sample(A1, HOME, name));
  return (await watch.next()).cursor ?? "";
}

async function expectRefused(storage: PostgresStorage, cursor: string): Promise<void> {
  using watch = await storage.watchList(A1, HOME, "", { resumeAfter: cursor });
  await assertCode(watch.next(), "STORAGE_WATCH_CLOSED");
}

describe.skipIf(url === undefined)("the line of a store in PostgreSQL", { timeout: 60_000 }, () => {
  let admin: postgres.Sql;
  let original: string;
  const databases: string[] = [];

  const at = (database: string): string => {
    const named = new URL(url ?? "");
    named.pathname = database;
    return named.href;
  };
  const newDatabase = async (template?: string): Promise<string> => {
    const name = `line_${randomUUID().replaceAll("-", "_")}`;
    await (template === undefined
      ? admin`CREATE DATABASE ${admin(name)}`
      : admin`CREATE DATABASE ${admin(name)} TEMPLATE ${admin(template)}`);
    databases.push(name);
    return name;
  };

  beforeAll(() => {
    admin = postgres(url ?? "", { max: 1, onnotice: () => undefined });
  });

  beforeEach(async () => {
    original = await newDatabase();
  });

  afterAll(async () => {
    for (const name of databases) await admin`DROP DATABASE ${admin(name)} WITH (FORCE)`;
    await admin.end();
  });

  test("goes on when the store is opened again", async () => {
    let cursor: string;
    {
      await using storage = await createPostgresStorage({ url: at(original) });
      cursor = await writeWithCursor(storage, "web");
    }
    await using storage = await createPostgresStorage({ url: at(original) });
    using watch = await storage.watchList(A1, HOME, "", { resumeAfter: cursor });
    const stored = await storage.writeCAS(sample(A1, HOME, "continued"));
    assertSame(await nextUpsert(watch), stored);
    expect(stored.version).toBe("2");
  });

  test("is another one in a copy of the database, while the original goes on", async () => {
    let cursor: string;
    {
      await using storage = await createPostgresStorage({ url: at(original) });
      cursor = await writeWithCursor(storage, "web");
    }
    const copied = await newDatabase(original);
    await using first = await createPostgresStorage({ url: at(original) });
    await using second = await createPostgresStorage({ url: at(copied) });
    await expectRefused(second, cursor);
    const issued = await first.writeCAS(sample(A1, HOME, "late"));
    const other = await second.writeCAS(sample(A1, HOME, "late"));
    expect(Number(other.version)).toBeGreaterThan(Number(issued.version) + 1_000_000_000 - 1);
    await assertCode(second.writeCAS(issued), "STORAGE_CAS_FAILURE");
    await expectRefused(second, cursor);
    using watch = await first.watchList(A1, HOME, "", { resumeAfter: cursor });
    assertSame(await nextUpsert(watch), issued);
  });

  test("is another one in each second use of a copy", async () => {
    {
      await using storage = await createPostgresStorage({ url: at(original) });
      await storage.writeCAS(sample(A1, HOME, "web"));
    }
    const versions: number[] = [];
    for (let use = 0; use < 2; use += 1) {
      await using storage = await createPostgresStorage({ url: at(await newDatabase(original)) });
      versions.push(Number((await storage.writeCAS(sample(A1, HOME, "late"))).version));
    }
    expect(versions[1]).toBeGreaterThan(versions[0] ?? Number.POSITIVE_INFINITY);
  });

  test("is another one after pg_dump and pg_restore into an empty database and into the same one", async (context) => {
    context.skip(bin === undefined, "TEST_POSTGRES_BIN names no programs");
    let cursor: string;
    {
      await using storage = await createPostgresStorage({ url: at(original) });
      cursor = await writeWithCursor(storage, "web");
    }
    const { stdout } = await run(
      join(bin ?? "", "pg_dump"),
      ["--format=custom", "--no-owner", `--dbname=${at(original)}`],
      { encoding: "buffer", maxBuffer: 64 * 1024 * 1024 },
    );
    let issued: Awaited<ReturnType<PostgresStorage["writeCAS"]>>;
    {
      await using storage = await createPostgresStorage({ url: at(original) });
      issued = await storage.writeCAS(sample(A1, HOME, "late"));
    }
    for (const target of [await newDatabase(), original]) {
      const restoring = run(join(bin ?? "", "pg_restore"), [
        "--clean",
        "--if-exists",
        "--no-owner",
        `--dbname=${at(target)}`,
      ]);
      restoring.child.stdin?.end(stdout);
      await restoring;
      await using storage = await createPostgresStorage({ url: at(target) });
      await expectRefused(storage, cursor);
      const other = await storage.writeCAS(sample(A1, HOME, "late"));
      expect(other.version).not.toBe(issued.version);
      await assertCode(storage.writeCAS(issued), "STORAGE_CAS_FAILURE");
      const kept = await storage.list("strong", A1, HOME, "web");
      expect(kept.map(({ id }) => id.name)).toEqual(["web"]);
    }
  });

  test("begins far above what was restored, as its original may have gone on", async () => {
    await using storage = await createPostgresStorage({ url: at(original) });
    await using restore = await storage.restore();
    await restore.apply(sample(A1, HOME, "web", { version: "7" }));
    await restore.commit();
    const { version } = await storage.writeCAS(sample(A1, HOME, "late"));
    expect(Number(version)).toBeGreaterThan(1_000_000_007);
  });
});

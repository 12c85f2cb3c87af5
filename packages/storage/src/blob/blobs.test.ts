import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import { assertCode } from "../testing/assertions.ts";
import { describeBlobs } from "../testing/describe-blobs.ts";
import { createDirectoryBlobs, createSqliteBlobs } from "./index.ts";

const newDirectory = (): Promise<string> => mkdtemp(join(tmpdir(), "stackwright-blobs-"));

describeBlobs(
  "a directory",
  async () => {
    const directory = await newDirectory();
    return {
      open: (options) => createDirectoryBlobs({ directory, ...options }),
      damage: async (sha256) => {
        const path = join(directory, "blobs", sha256.slice(0, 2), sha256, "data");
        const bytes = await readFile(path);
        bytes[100] = (bytes[100] ?? 0) ^ 1;
        await writeFile(path, bytes);
      },
      [Symbol.asyncDispose]: () => rm(directory, { recursive: true, force: true }),
    };
  },
  { damage: true },
);

describeBlobs(
  "sqlite",
  async () => {
    const directory = await newDirectory();
    return {
      open: (options) => createSqliteBlobs({ directory, ...options }),
      damage: async () => {
        using database = new DatabaseSync(join(directory, "blobs.db"));
        const row = database.prepare("SELECT rowid, bytes FROM chunk LIMIT 1").get();
        const bytes = Buffer.from(row?.bytes as Uint8Array);
        bytes[0] = (bytes[0] ?? 0) ^ 1;
        const update = database.prepare("UPDATE chunk SET bytes = ? WHERE rowid = ?");
        update.run(bytes, row?.rowid as number);
      },
      [Symbol.asyncDispose]: () => rm(directory, { recursive: true, force: true }),
    };
  },
  { damage: true },
);

test("a directory has one process at a time", async () => {
  const directory = await newDirectory();
  await using blobs = await createDirectoryBlobs({ directory });
  const error = await assertCode(createDirectoryBlobs({ directory }), "STORAGE_LOCKED");
  expect(error.details.holder?.pid).toBe(process.pid);
  await blobs.close();
  await rm(directory, { recursive: true });
});

test("an SQLite file of a release without owners gets them when it is opened", async () => {
  const directory = await newDirectory();
  const blobs = await createSqliteBlobs({ directory });
  const { sha256 } = await blobs.write(Buffer.from("of before"), { owner: "acme" });
  await blobs.close();
  const database = new DatabaseSync(join(directory, "blobs.db"));
  database.exec("DROP TABLE claim");
  database.close();
  await using reopened = await createSqliteBlobs({ directory, ownerQuotaBytes: 10 });
  expect(await reopened.find([sha256])).toHaveLength(1);
  await reopened.write(Buffer.from("of before"), { owner: "acme" });
  const error = await assertCode(
    reopened.write(Buffer.from("xx"), { owner: "acme" }),
    "STORAGE_QUOTA_EXCEEDED",
  );
  expect(error.details.used).toBe(9);
  await reopened.close();
  await rm(directory, { recursive: true });
});

test("a directory of blobs can be read beside its writer", async () => {
  const directory = await newDirectory();
  await using writer = await createDirectoryBlobs({ directory });
  const { sha256 } = await writer.write(Buffer.from("written"));
  await using reader = await createDirectoryBlobs({ directory, readOnly: true });
  const { sha256: later } = await writer.write(Buffer.from("written later"));
  for (const [digest, text] of [
    [sha256, "written"],
    [later, "written later"],
  ] as const) {
    const chunks: Uint8Array[] = [];
    for await (const chunk of reader.read(digest)) chunks.push(chunk);
    expect(Buffer.concat(chunks).toString()).toBe(text);
  }
  await assertCode(reader.write(Buffer.from("x")), "STORAGE_READ_ONLY");
  await assertCode(reader.find([sha256]), "STORAGE_READ_ONLY");
  await rm(directory, { recursive: true });
});

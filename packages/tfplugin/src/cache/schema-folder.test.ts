import {
  chmod,
  mkdtempDisposable,
  readdir,
  readFile,
  rename,
  utimes,
  writeFile,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { CacheFolder } from "./cache-folder.ts";
import { createSchemaFolder } from "./schema-folder.ts";

const SCHEMA = { schema: Buffer.from("schema ".repeat(1000)), identities: Buffer.from("id") };

async function setUp() {
  const scratch = await mkdtempDisposable(join(tmpdir(), "schema-folder-"));
  onTestFinished(() => scratch.remove());
  const folder = join(scratch.path, "schemas");
  const files = async () => (await readdir(folder)).map((name) => join(folder, name));
  return { folder, files, store: createSchemaFolder(folder) };
}

it("keeps a schema for another process, compressed", async () => {
  const { folder, files, store } = await setUp();
  expect(await store.read("h1:a 6")).toBeUndefined();
  await store.write("h1:a 6", SCHEMA);
  const found = await createSchemaFolder(folder).read("h1:a 6");
  expect(Buffer.from(found?.schema ?? []).equals(SCHEMA.schema)).toBe(true);
  expect(Buffer.from(found?.identities ?? []).equals(SCHEMA.identities)).toBe(true);
  expect(await store.read("h1:a 5")).toBeUndefined();
  const [file = ""] = await files();
  expect((await readFile(file)).length).toBeLessThan(1000);
});

it.each<[string, (file: Buffer) => Buffer]>([
  ["one bit is another one", (file) => Buffer.from(file.map((b, at) => (at === 60 ? b ^ 1 : b)))],
  ["it is cut off", (file) => file.subarray(0, -1)],
  ["it is empty", () => Buffer.alloc(0)],
  ["it is of another form", (file) => Buffer.concat([Buffer.from("swschem0"), file.subarray(8)])],
])("drops a file where %s", async (_name, damage) => {
  const { files, store } = await setUp();
  await store.write("key", SCHEMA);
  const [file = ""] = await files();
  await writeFile(file, damage(await readFile(file)));
  expect(await store.read("key")).toBeUndefined();
  expect(await files()).toEqual([]);
  await store.write("key", SCHEMA);
  expect(await store.read("key")).toBeDefined();
});

it("does not take the file of another program for its own", async () => {
  const { files, store } = await setUp();
  await store.write("one", SCHEMA);
  const [one = ""] = await files();
  await store.write("other", SCHEMA);
  const [other = ""] = (await files()).filter((file) => file !== one);
  await rename(one, other);
  expect(await store.read("other")).toBeUndefined();
});

it.runIf(process.getuid !== undefined)("does not read what others can write", async () => {
  const { files, store } = await setUp();
  await store.write("key", SCHEMA);
  const [file = ""] = await files();
  await chmod(file, 0o666);
  expect(await store.read("key")).toBeUndefined();
  await chmod(file, 0o600);
  expect(await store.read("key")).toBeDefined();
});

it("is whole at every moment while several write", async () => {
  const { files, store } = await setUp();
  await store.write("key", SCHEMA);
  const writers = Array.from({ length: 20 }, async () => store.write("key", SCHEMA));
  const readers = Array.from({ length: 20 }, async () => store.read("key"));
  for (const found of await Promise.all(readers)) expect(found?.schema.length).toBe(7000);
  await Promise.all(writers);
  expect(await files()).toHaveLength(1);
});

it("holds so many files, those that were used last, and nothing that was abandoned", async () => {
  const { folder, files } = await setUp();
  const cache = new CacheFolder(folder, { maxFiles: 2, maxFileBytes: 100 });
  const old = new Date(Date.now() - 7_200_000);
  const [a = "", b = "", c = "", d = ""] = ["a", "b", "c", "d"].map((one) => one.repeat(64));
  for (const name of [a, b]) {
    await cache.write(name, Buffer.from(name));
    await utimes(join(folder, name), old, old);
  }
  // The user may have named a folder that holds other files.
  for (const name of [".incoming-0", "main.tf", "notes"]) {
    await writeFile(join(folder, name), "");
    await utimes(join(folder, name), old, old);
  }
  expect(await cache.read(a)).toEqual(Buffer.from(a));
  await cache.write(c, Buffer.from("c"));
  const left = (await files()).map((file) => basename(file)).toSorted();
  expect(left).toEqual([a, c, "main.tf", "notes"].toSorted());
  await cache.write(d, Buffer.alloc(101));
  expect(await cache.read(d)).toBeUndefined();
});

it("is as if there were none where nothing can be written", async () => {
  const { folder } = await setUp();
  await writeFile(folder, "a file");
  const store = createSchemaFolder(folder);
  await store.write("key", SCHEMA);
  expect(await store.read("key")).toBeUndefined();
  await store.drop("key");
});

import { mkdtempDisposable, readdir, readFile, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { loadKey } from "./key-encryption.ts";
import { ensureKeyFile, replaceKeyFile } from "./key-file.ts";

it("creates one key for several writers at once, whole at any moment, and leaves an existing one", async () => {
  await using folder = await mkdtempDisposable(join(tmpdir(), "key-file-"));
  const path = join(folder.path, "key");
  const ids = await Promise.all(
    Array.from({ length: 8 }, async () => {
      await ensureKeyFile(path);
      return (await loadKey({ kind: "file", path })).id;
    }),
  );
  expect(new Set(ids).size).toBe(1);
  expect((await stat(path)).mode & 0o777).toBe(0o600);
  expect(await readdir(folder.path)).toEqual(["key"]);
  const text = await readFile(path, "utf8");
  await ensureKeyFile(path);
  expect(await readFile(path, "utf8")).toBe(text);
});

it("replaces a key by another one in one step", async () => {
  await using folder = await mkdtempDisposable(join(tmpdir(), "key-file-"));
  const path = join(folder.path, "key");
  await writeFile(path, "old");
  await ensureKeyFile(`${path}.next`);
  const next = await readFile(`${path}.next`, "utf8");
  await replaceKeyFile(path, `${path}.next`);
  expect(await readFile(path, "utf8")).toBe(next);
  expect(await readdir(folder.path)).toEqual(["key"]);
});

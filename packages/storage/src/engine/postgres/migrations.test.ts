import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { readMigrationFiles } from "drizzle-orm/migrator";
import { expect, test } from "vitest";

const root = new URL("../../../", import.meta.url);
const read = (path: string): Record<string, unknown> =>
  JSON.parse(readFileSync(new URL(path, root), "utf8")) as Record<string, unknown>;

test("a published package carries its migrations where the compiled engine looks for them", () => {
  expect(read("package.json").files).toContain("drizzle");
  const { exports } = read("package.json").publishConfig as {
    readonly exports: Readonly<Record<string, { readonly default: string }>>;
  };
  // As deep below the root as this file: "../../../drizzle" is the same folder from both.
  const compiled = new URL(exports["./postgres"]?.default ?? "", root);
  expect(new URL("postgres/../../../drizzle", new URL("./", compiled)).href).toBe(
    new URL("drizzle", root).href,
  );
});

test("every migration of the journal is there, and no other", () => {
  const folder = fileURLToPath(new URL("drizzle", root));
  const { entries } = read("drizzle/meta/_journal.json") as {
    readonly entries: readonly { readonly tag: string }[];
  };
  for (const { tag } of entries) expect(existsSync(`${folder}/${tag}.sql`)).toBe(true);
  expect(readMigrationFiles({ migrationsFolder: folder })).toHaveLength(entries.length);
});

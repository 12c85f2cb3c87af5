import { mkdtempDisposable, readdir, readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { buildSite } from "./build-site.ts";

it("equal sources give equal bytes, wherever they are built", { timeout: 180_000 }, async () => {
  const built: Map<string, string>[] = [];
  for (const name of ["one", "two"]) {
    await using scratch = await mkdtempDisposable(join(tmpdir(), `site-${name}-`));
    const folder = join(scratch.path, "site");
    await buildSite(folder);
    const files = new Map<string, string>();
    for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
      if (!entry.isFile()) continue;
      const path = join(entry.parentPath, entry.name);
      files.set(path.slice(folder.length + 1), await readFile(path, "base64"));
    }
    built.push(files);
  }
  const [one, two] = built;
  expect([...(one?.keys() ?? [])].toSorted()).toEqual([...(two?.keys() ?? [])].toSorted());
  expect(one?.size).toBeGreaterThan(10);
  const changed = [...(one ?? [])].filter(([name, bytes]) => two?.get(name) !== bytes);
  expect(changed.map(([name]) => name)).toEqual([]);
});

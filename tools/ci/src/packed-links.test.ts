import { mkdir, mkdtempDisposable, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { deadPackedLinks } from "./packed-links.ts";

it("names what pages of a package link to and the package lacks", async () => {
  await using scratch = await mkdtempDisposable(join(tmpdir(), "packed-links-"));
  await mkdir(join(scratch.path, "docs/site"), { recursive: true });
  await writeFile(
    join(scratch.path, "README.md"),
    "[a](docs/a.md#b) [c](https://c.test/d.md) [e](#f) `[g](h.md)`\n\n[i](../../i.md) [j](k.md)\n",
  );
  await writeFile(join(scratch.path, "docs/a.md"), "[r](../README.md)\n");
  await writeFile(join(scratch.path, "docs/site/b.md"), "[r](../README.md)\n");
  const { pages, problems } = deadPackedLinks(scratch.path);
  expect(pages).toBe(3);
  expect([...problems].toSorted()).toEqual([
    "README.md:3: the package has no ../../i.md",
    "README.md:3: the package has no k.md",
    "docs/site/b.md:1: the package has no docs/README.md",
  ]);
});

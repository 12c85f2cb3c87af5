import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";

const SOURCE = import.meta.dirname;
const ROOT = join(SOURCE, "../../..");

/** The tests that the page names: a file, and the name of a test in it. */
async function namedTests() {
  const page = await readFile(join(SOURCE, "../docs/failures.md"), "utf8");
  return [...page.matchAll(/^- `([^`]+\.ts): ([^`]+)`$/gm)].map(([, file = "", name = ""]) => ({
    path: join(/^(apps|packages|e2e)\//.test(file) ? ROOT : SOURCE, file),
    name,
  }));
}

it("the page about failures names tests that exist, and each row has one or the reason", async () => {
  const tests = await namedTests();
  expect(tests.length).toBeGreaterThan(40);
  const missing: string[] = [];
  for (const { path, name } of tests) {
    const text = await readFile(path, "utf8").catch(() => "");
    if (!text.includes(`"${name}"`)) missing.push(`${path}: ${name}`);
  }
  expect(missing).toEqual([]);
  const page = await readFile(join(SOURCE, "../docs/failures.md"), "utf8");
  const rows = page.split(/^## [0-9]+\. /m).slice(1);
  expect(rows).toHaveLength(40);
  for (const row of rows) expect(row.trim().split("\n").length).toBeGreaterThan(1);
});

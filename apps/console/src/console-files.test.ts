import { expect, it } from "vitest";
import { readConsole } from "./console-files.ts";

/** What the first page needs, in bytes as they are sent. */
const FIRST_LOAD = 200_000;

it("is built within its budget, with names that change with the content, and nothing inline", {
  timeout: 180_000,
}, async () => {
  const files = await readConsole();
  const page = files.get("index.html")?.content.toString() ?? "";
  expect(page).not.toMatch(/<style|style=|<script(?![^>]*src=)|https?:/);
  const loaded = [...page.matchAll(/(?:src|href)="\/console\/(assets\/[^"]+)"/g)].map(
    ([, name = ""]) => name,
  );
  expect(loaded.length).toBeGreaterThan(1);
  const sizes = loaded.map((name) => {
    const file = files.get(name);
    return (file?.gzip ?? file?.content)?.length ?? Number.NaN;
  });
  expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThanOrEqual(FIRST_LOAD);
  for (const [name, { isImmutable }] of files) {
    expect(isImmutable, name).toBe(/^assets\/.*-[\w-]{8}\.\w+$/.test(name));
  }
  expect(files.get("licenses.md")?.content.toString()).toContain("react-dom");
});

import { expect, it } from "vitest";
import { readConsole } from "./console-files.ts";

/** In bytes as they are sent: what the first page needs, what any other page adds, and all of it. */
const FIRST_SCRIPTS = 140_000;
const FIRST_STYLES = 15_000;
const ONE_MORE = 60_000;
const ALL = 500_000;

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
  const sizeOf = (names: readonly string[]): number =>
    names.reduce((sum, name) => {
      const file = files.get(name);
      return sum + ((file?.gzip ?? file?.content)?.length ?? Number.NaN);
    }, 0);
  const scripts = [...files.keys()].filter((name) => name.endsWith(".js"));
  expect(sizeOf(loaded.filter((name) => name.endsWith(".js")))).toBeLessThan(FIRST_SCRIPTS);
  expect(sizeOf(loaded.filter((name) => name.endsWith(".css")))).toBeLessThan(FIRST_STYLES);
  for (const name of scripts.filter((one) => !loaded.includes(one))) {
    expect(sizeOf([name]), name).toBeLessThan(ONE_MORE);
  }
  expect(sizeOf(scripts)).toBeLessThan(ALL);
  for (const [name, { isImmutable }] of files) {
    expect(isImmutable, name).toBe(/^assets\/.*-[\w-]{8}\.\w+$/.test(name));
  }
  expect(files.get("licenses.md")?.content.toString()).toContain("react-dom");
});

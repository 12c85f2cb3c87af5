import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";

const ROOT = join(import.meta.dirname, "../../../..");
const PAGE = readFileSync(join(ROOT, "packages/tfe/ACCEPTANCE.md"), "utf8");

const rows = PAGE.split("\n")
  .filter((line) => /^\| \d/.test(line))
  .map((line) => {
    const [number = "", what = "", shown = ""] = line.split(" | ").map((cell) => cell.trim());
    return { number: Number(number.replace("| ", "")), what, shown: shown.replace(/ *\|$/, "") };
  });

/** Short names of files, as the page introduces them. */
const aliases = new Map(
  Array.from(PAGE.matchAll(/`([a-z-]+)` is\s+`([^`]+)`/g), ([, name = "", path = ""]) => [
    name,
    path,
  ]),
);

/** The files that a cell names, with the titles that it names of each. */
function namedIn(shown: string): readonly (readonly [string, readonly string[]])[] {
  const found: [string, string[]][] = [];
  for (const [word] of shown.matchAll(/`[^`]*\.test\.ts`|[a-z-]+(?=:)|"[^"]*"/g)) {
    if (word.startsWith('"')) found.at(-1)?.[1].push(word.slice(1, -1));
    else if (word.startsWith("`")) found.push([word.slice(1, -1), []]);
    else if (aliases.has(word)) found.push([aliases.get(word) ?? "", []]);
  }
  return found;
}

it("introduces its short names, and numbers its rows", () => {
  expect(aliases.size).toBeGreaterThan(7);
  expect(rows.length).toBeGreaterThan(60);
  expect(rows.map(({ number }) => number)).toEqual(rows.map((_, at) => at + 1));
  expect(rows.filter(({ shown }) => shown === "")).toEqual([]);
});

it.each(rows)("names files and titles of tests for $number that exist: $what", ({ shown }) => {
  const named = namedIn(shown);
  // Some point to the row before.
  if (named.length === 0) expect(shown).toMatch(/the same|see|row/i);
  for (const [path, titles] of named) {
    const file = path.startsWith("packages/")
      ? join(ROOT, path)
      : join(ROOT, "apps/engine/src", path);
    expect(existsSync(file), path).toBe(true);
    const text = readFileSync(file, "utf8");
    for (const title of titles) {
      expect(text.includes(title.replace(/ ?\.\.\.$/, "")), `${path}: ${title}`).toBe(true);
    }
  }
});

import { existsSync, globSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { buildHelp } from "../build-help.ts";
import { LIBRARIES } from "./library-pages.ts";

// What docs/library.md says of the libraries.

const ROOT = join(import.meta.dirname, "../../../../..");
const PAGE = readFileSync(join(ROOT, LIBRARIES), "utf8");

const ROWS = [...PAGE.matchAll(/^\| \[(.+?)\]\((.+?)\) +\| (.+?) +\|$/gm)].map(
  ([, name = "", path = "", purpose = ""]) => ({ name, path, purpose }),
);

/** The beginnings of the words of a text that say something. */
function stemsOf(text: string): ReadonlySet<string> {
  const words = text.toLowerCase().match(/[a-z]{4,}/g) ?? [];
  return new Set(words.filter((word) => !FILLING.has(word)).map((word) => word.slice(0, 4)));
}

const FILLING = new Set([
  "your",
  "with",
  "that",
  "them",
  "their",
  "from",
  "over",
  "ones",
  "many",
  "both",
]);

it("the page has one row for each library, in the order of their names", () => {
  const folders = globSync("packages/*/package.json", { cwd: ROOT })
    .filter(
      (path) => !("private" in (JSON.parse(readFileSync(join(ROOT, path), "utf8")) as object)),
    )
    .map((path) => dirname(path).slice("packages/".length));
  expect(ROWS.map(({ name }) => name)).toEqual(folders.toSorted());
});

describe.each(ROWS)("of $name", ({ name, path, purpose }) => {
  const readme = join(ROOT, "docs", path);

  it("leads to its page, which has an example", () => {
    expect(path).toBe(`../packages/${name}/README.md`);
    expect(existsSync(readme)).toBe(true);
    expect(readFileSync(readme, "utf8")).toMatch(/^# `?@stackwright\/.+`?$[^]*^```ts\n/m);
  });

  it("is for what its own page says", () => {
    const ownPages = [readme, join(dirname(readme), "package.json")];
    const own = stemsOf(ownPages.map((one) => readFileSync(one, "utf8")).join("\n"));
    const said = stemsOf(purpose);
    expect([...said].filter((stem) => !own.has(stem))).toEqual([]);
  });
});

it("a server has the page with a page of each library, with all declarations, where the page says it", async () => {
  const help = await buildHelp(ROOT);
  const [, where = ""] = /`\/help\/(\S+)`/.exec(PAGE) ?? [];
  const html = help.get(where)?.toString() ?? "";
  for (const { name } of ROWS) {
    expect(html).toContain(`href="/help/docs/library/${name}.html"`);
    const reference = help.get(`docs/library/${name}.html`)?.toString() ?? "";
    expect([name, reference]).toEqual([name, expect.stringContaining("<pre")]);
  }
  const { exports } = JSON.parse(readFileSync(join(ROOT, "packages/krt/package.json"), "utf8")) as {
    readonly exports: object;
  };
  const krt = help.get("docs/library/krt.html")?.toString() ?? "";
  for (const subpath of Object.keys(exports)) {
    expect(krt).toContain(`@stackwright/krt${subpath.slice(1)}`);
  }
}, 60_000);

import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";

const ROOT = join(import.meta.dirname, "../../../..");
const PAGE = join(ROOT, "apps/cli/docs/acceptance.md");

interface Row {
  readonly number: string;
  readonly check: string;
  readonly tests: string;
  readonly missing: string;
}

const rows = readFileSync(PAGE, "utf8")
  .split("\n")
  .filter((line) => /^\| \d/.test(line))
  .map((line): Row => {
    const [number = "", check = "", tests = "", missing = ""] = line
      .slice(1, -1)
      .split(" | ")
      .map((cell) => cell.trim());
    return { number, check, tests, missing };
  });

describe("the acceptance page", () => {
  it("has each of the 77 checks once, with a test or what is not tested", () => {
    expect(rows.map(({ number }) => Number(number))).toEqual(
      Array.from({ length: 77 }, (_, at) => at + 1),
    );
    expect(rows.filter(({ tests, missing }) => tests === "" && missing === "")).toEqual([]);
  });

  it.each(rows.filter(({ tests }) => tests !== ""))(
    "names tests of check $number that exist",
    ({ tests }) => {
      for (const part of tests.split("; `")) {
        const [path = "", titles = ""] = part.replace(/^`/, "").split("`: ");
        const file = join(ROOT, path);
        expect(existsSync(file), path).toBe(true);
        const text = readFileSync(file, "utf8");
        const named = [...titles.matchAll(/"([^"]*)"/g)].map(([, title = ""]) => title);
        expect(named.length, part).toBeGreaterThan(0);
        for (const title of named) expect(text.includes(title), `${path}: ${title}`).toBe(true);
      }
    },
  );
});

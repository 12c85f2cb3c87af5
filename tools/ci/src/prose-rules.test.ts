import { describe, expect, it } from "vitest";
import { compileRules, countProse, findInText, proseProblems } from "./prose-rules.ts";

const rules = compileRules([
  { pattern: "nobody", in: "SMC", use: "the process" },
  { pattern: "mend(s|ed)?", in: "SM", use: "fix" },
]);
const words = (file: string, text: string) =>
  findInText(file, text, rules).map(({ line, place, word }) => `${line} ${place} ${word}`);

describe("flagged words", () => {
  it("are found in strings, templates and comments of sources", () => {
    const text = [
      "// Nobody waits.",
      'const a = "mended by nobody";',
      "const b = `it ${a} mends itself`;",
      'const nobody = { nobody: "nobody" };',
    ].join("\n");
    expect(words("a.ts", text)).toEqual(["1 C Nobody", "2 S nobody", "2 S mended", "3 S mends"]);
  });

  it("are not found in import paths, identifiers and SQL", () => {
    const text = 'import { x } from "./nobody here.ts";\nconst q = "select nobody from people";';
    expect(words("a.ts", text).filter((hit) => !hit.startsWith("1 "))).toEqual([]);
  });

  it("are found in prose of pages, not in code and link targets", () => {
    const text =
      "Nobody is here.\n\n```sh\nmend nobody\n```\n\nSee `mend` and [this](nobody.md), mended.\n";
    expect(words("a.md", text)).toEqual(["1 M Nobody", "7 M mended"]);
  });

  it("are whole words", () => {
    expect(words("a.md", "amendments are commended, nobodys-own too\n")).toEqual([]);
  });

  it("fail a file only beyond its baseline, and comments never", () => {
    const hits = findInText("a.ts", '// nobody\nconst a = "nobody here";', rules);
    expect(countProse(hits)).toEqual({ "a.ts S": 1 });
    expect(proseProblems(hits, { "a.ts S": 1 })).toEqual([]);
    expect(proseProblems(hits, {})).toEqual([
      'a.ts:2: "nobody" in ""nobody here""; use: the process',
    ]);
  });
});

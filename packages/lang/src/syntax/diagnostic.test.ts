import { describe, expect, it } from "vitest";
import { consolidateWarnings, type Diagnostic } from "./diagnostic.ts";
import { SourceFile } from "./source-file.ts";

const SOURCE = new SourceFile("main.tf", "a\nb\nc\nd\ne\nf\n");

function at(
  line: number,
  summary: string,
  severity: Diagnostic["severity"] = "warning",
): Diagnostic {
  const start = SOURCE.lineStart(line);
  const subject = { source: SOURCE, start, end: start + 1 };
  return { severity, code: "X", summary, detail: `at ${line}`, subject };
}

describe("consolidateWarnings", () => {
  it("makes one of many, at the place of the first", () => {
    const result = consolidateWarnings([
      at(1, "old"),
      at(2, "bad", "error"),
      at(3, "old"),
      at(4, "bad", "error"),
      at(5, "old"),
      at(6, "other"),
    ]);
    expect(result.map(({ summary, detail }) => `${summary}: ${detail}`)).toEqual([
      "old: at 1\n\n(and 2 more similar warnings, such as at main.tf line 3, main.tf line 5)",
      "bad: at 2",
      "bad: at 4",
      "other: at 6",
    ]);
  });

  it("lists a few places only", () => {
    const many = Array.from({ length: 6 }, (_, index) => at(index + 1, "old"));
    const [first] = consolidateWarnings(many);
    expect(first?.detail).toBe(
      "at 1\n\n(and 5 more similar warnings, such as at main.tf line 2, main.tf line 3, main.tf line 4)",
    );
  });

  it("leaves single warnings alone", () => {
    const given = [at(1, "a"), at(2, "b")];
    expect(consolidateWarnings(given)).toEqual(given);
  });
});

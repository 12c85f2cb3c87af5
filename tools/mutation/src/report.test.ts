import { expect, test } from "vitest";
import { type MutantResult, renderReport } from "./report.ts";

test("survivors with a reason do not count, all others do", () => {
  const result = (id: string, outcome: MutantResult["outcome"]): MutantResult => ({
    id,
    path: "packages/a/src/b.ts",
    kind: "operator",
    line: 3,
    before: "a < b",
    after: "a <= b",
    outcome,
  });
  const results = [
    result("1", "failed"),
    result("2", "late"),
    result("3", "survived"),
    result("4", "survived"),
    result("5", "not called"),
  ];
  const { text, lowest } = renderReport([{ name: "b", results }], { "4": "the same for integers" });
  expect(lowest).toBe(50);
  expect(text).toContain(
    "| b      | `packages/a/src` | 5       | 2       | 1              | 2        | 50 %  |",
  );
  expect(text.match(/^- .*/gm)).toEqual([
    "- 3 `packages/a/src/b.ts:3` operator, survived",
    "- 5 `packages/a/src/b.ts:3` operator, not called",
  ]);
});

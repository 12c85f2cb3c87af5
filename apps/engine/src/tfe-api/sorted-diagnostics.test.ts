import { describe, expect, it } from "vitest";
import { sortedDiagnostics } from "./sorted-diagnostics.ts";

const base = { seq: 1, at: 0, type: "diagnostic", severity: "warning", detail: "d" };
const at = (summary: string, file?: string, line?: number, more: object = {}) => ({
  ...base,
  summary,
  ...(file !== undefined && { file, line }),
  ...more,
});
const names = (found: readonly ReturnType<typeof at>[]) =>
  sortedDiagnostics(found).map(({ summary }) => summary);

describe("diagnostics as commands print them", () => {
  it("are warnings, then errors, in the order of their places", () => {
    const error = { severity: "error" };
    const found = [
      at("error in b", "b.tf", 1, error),
      at("error in a", "a.tf", 3, error),
      at("in a module", "m/a.tf", 1),
      at("line 10", "main.tf", 10),
      at("line 9", "main.tf", 9),
      at("without a place"),
    ];
    expect(names(found)).toEqual([
      "without a place",
      "line 9",
      "line 10",
      "in a module",
      "error in a",
      "error in b",
    ]);
  });

  it("say of similar warnings with a place how many there are", () => {
    const old = (line: number) => at("Old", "main.tf", line);
    expect(sortedDiagnostics([old(3), old(1)])).toEqual([
      { ...old(1), detail: "d\n\n(and one more similar warning elsewhere)" },
    ]);
    expect(sortedDiagnostics([old(3), old(1), old(2)])).toEqual([
      { ...old(1), detail: "d\n\n(and 2 more similar warnings elsewhere)" },
    ]);
    expect(sortedDiagnostics([old(1)])).toEqual([old(1)]);
  });

  it("are all of them for errors, for checks and without a place", () => {
    for (const one of [
      at("Bad", "main.tf", 1, { severity: "error" }),
      at("Check block assertion failed", "main.tf", 1),
      at("Of the plan"),
    ]) {
      expect(sortedDiagnostics([one, one])).toEqual([one, one]);
    }
  });
});

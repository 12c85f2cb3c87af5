import { describe, expect, it } from "vitest";
import { formatPropertyPath, type PropertyPath, parsePropertyPath } from "./path.ts";

describe("property paths", () => {
  it.each<[PropertyPath, string]>([
    [[], ""],
    [["a"], "a"],
    [["a", "b", 0, "c"], "a.b[0].c"],
    [["a", 0, 1], "a[0][1]"],
    [[0, "a"], "[0].a"],
    [["a", "x.y"], 'a["x.y"]'],
    [["x.y", "a"], '["x.y"].a'],
    [["a", 'q"\\'], String.raw`a["q\"\\"]`],
    [["a", "", "é_1", "two words"], 'a[""].é_1["two words"]'],
    [["0", "1"], "0.1"],
  ])("writes %j as %s and reads it back", (path, text) => {
    expect(formatPropertyPath(path)).toBe(text);
    expect(parsePropertyPath(text)).toEqual(path);
  });

  it("reads bare keys that it would write in quotes", () => {
    expect(parsePropertyPath("a-b.c d")).toEqual(["a-b", "c d"]);
  });

  it.each([".", ".a", "a.", "a..b", "a[", "a[x]", 'a["x]', "a]", "a[0]b", "a[-1]"])(
    "refuses %s",
    (text) => {
      expect(() => parsePropertyPath(text)).toThrow(SyntaxError);
    },
  );
});

import { expect, it } from "vitest";
import { parseSearch, stringifySearch } from "./search-text.ts";

it.each(["true", "null", "12345678901234567890", "007", '"a"', "[1]", "a b&c=d", "ü"])(
  "the filter %s is the text that it was",
  (q) => {
    expect(parseSearch(stringifySearch({ q }))).toEqual({ q });
  },
);

it("reads addresses that are written by hand, and leaves out what has no value", () => {
  expect(parseSearch("?q=true&level=error")).toEqual({ q: "true", level: "error" });
  expect(stringifySearch({ from: 3, address: undefined })).toBe("?from=3");
  expect(stringifySearch({})).toBe("");
});

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseRange } from "./byte-range.ts";

describe("ranges of bytes", () => {
  it("lie in the file, whatever is asked for", () => {
    const number = fc.oneof(fc.nat(50), fc.constant(""));
    fc.assert(
      fc.property(number, number, fc.nat(40), (first, last, size) => {
        const range = parseRange(`bytes=${first}-${last}`, size);
        const all = Array.from({ length: size }, (_, at) => at);
        const wanted =
          first === ""
            ? all.slice(Math.max(0, size - Number(last)))
            : all.slice(first, last === "" ? undefined : last + 1);
        if (range === undefined) {
          expect(first === "" ? last === "" : last !== "" && last < first).toBe(true);
        } else if (range === "unsatisfiable") {
          expect(first === "" ? wanted : all.slice(first)).toEqual([]);
        } else {
          expect(all.slice(range.offset, range.offset + range.length)).toEqual(wanted);
          expect(range.length).toBeGreaterThan(0);
        }
      }),
    );
  });

  it("are ignored when they are none", () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        if (!/^bytes=\d*-\d*$/.test(text)) expect(parseRange(text, 10)).toBeUndefined();
      }),
    );
  });
});

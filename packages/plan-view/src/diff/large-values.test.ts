import { fromNative, Type, Value } from "@stackwright/cty";
import { describe, expect, it, vi } from "vitest";
import { bodyLines } from "../render/diff-lines.ts";
import { diffValues } from "./diff-values.ts";
import { showDiff } from "./show-diff.ts";

const texts = (count: number, prefix: string): Value[] =>
  Array.from({ length: count }, (_, index) => Value.string(`${prefix}${index}`));

describe("values with very many parts", () => {
  it("are compared where their number exceeds the arguments of a call", { timeout: 60_000 }, () => {
    const was = texts(150_000, "a");
    const before = Value.list(was, Type.string);
    const after = Value.list(["x", "y"].map((text) => Value.string(text)).concat(was), Type.string);
    const ends = Value.list([...after.elements(), Value.string("z")], Type.string);
    const diff = showDiff(diffValues(before, ends));
    const added = diff.kind === "list" && diff.items.filter((item) => item.diff.kind === "add");
    expect(added).toHaveLength(3);
  });

  it("are written where their number exceeds the arguments of a call", { timeout: 60_000 }, () => {
    const entries = texts(150_000, "k").map((name) => [name.asString(), name] as const);
    const value = Value.object({ m: Value.map(entries, Type.string) });
    const diff = showDiff(diffValues(Value.object({ m: Value.null(value.type) }), value));
    expect(bodyLines(diff).length).toBeGreaterThan(150_000);
  });

  it.each(["set", "list"] as const)("are not compared all with all: a %s", (kind) => {
    const make = (prefix: string) => Value[kind](texts(2_000, prefix), Type.string);
    const equals = vi.spyOn(Value.prototype, "rawEquals");
    const [before, after] = [make("a"), make("b")];
    equals.mockClear();
    const diff = diffValues(before, after);
    const comparisons = equals.mock.calls.length;
    equals.mockRestore();
    expect(diff.kind === "items" && diff.items.length).toBe(4_000);
    // A list that is too long for a table is compared with what is near.
    expect(comparisons).toBeLessThan(2_000 * 70);
  });

  it("are pairs by key in their places, and have not moved", () => {
    const list = (prefix: string) =>
      fromNative(
        Array.from({ length: 1_500 }, (_, index) => ({
          name: `n${index}`,
          value: `${prefix}${index}`,
        })),
      );
    const diff = diffValues(list("a"), list("b"));
    const items = diff.kind === "items" ? diff.items : [];
    expect(items.filter(({ pairedBy }) => pairedBy === "key")).toHaveLength(1_500);
    expect(items.filter(({ moved }) => moved === true)).toEqual([]);
  });
});

describe("a text with more than is shown of any", () => {
  it("is its size", () => {
    const text = (letter: string) => Value.string(`${letter.repeat(100_000)}\nend\n`);
    expect(showDiff(diffValues(text("a"), text("b")))).toEqual({
      kind: "change",
      before: { kind: "omitted", characters: 100_005 },
      after: { kind: "omitted", characters: 100_005 },
    });
  });

  it("is its changed lines where these are short", () => {
    const text = (end: string) => Value.string(`${"a".repeat(100_000)}\n1\n2\n3\n4\n${end}\n`);
    expect(showDiff(diffValues(text("a"), text("b"))).kind).toBe("text");
  });
});

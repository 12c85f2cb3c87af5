import { describe, expect, it } from "vitest";
import {
  CtyError,
  Mark,
  type Refinements,
  rangeOf,
  refine,
  refineNotNull,
  safeKnownPrefix,
  Type,
  Value,
} from "../index.ts";

const { string, number, bool, dynamic } = Type;

function codeOf(run: () => unknown): string | undefined {
  try {
    run();
  } catch (error) {
    if (error instanceof CtyError) return error.code;
    throw error;
  }
  return undefined;
}

describe("refining an unknown", () => {
  it("adds to what is known already", () => {
    const first = refine(Value.unknown(number), { min: { value: 1 }, max: { value: 10 } });
    const second = refine(first, {
      notNull: true,
      min: { value: 1, inclusive: false },
      max: { value: 20 },
    });
    expect(rangeOf(second)).toMatchObject({ isNull: false, min: { inclusive: false } });
    expect(rangeOf(second).max?.value.text()).toBe("10");
  });

  it("keeps marks", () => {
    expect(refineNotNull(Value.unknown(string).mark(Mark.sensitive)).hasMark(Mark.sensitive)).toBe(
      true,
    );
  });

  it("that says nothing changes nothing", () => {
    const unknown = Value.unknown(string);
    for (const nothing of [{}, { fullPrefix: "" }, { notNull: false }] satisfies Refinements[]) {
      expect(refine(unknown, nothing).rawEquals(unknown)).toBe(true);
    }
    const infinite = refine(Value.unknown(number), { min: { value: Value.negativeInfinity } });
    expect(infinite.rawEquals(Value.unknown(number))).toBe(true);
    expect(
      refine(Value.unknown(number), { min: { value: Value.unknown(number) } }).rawEquals(
        Value.unknown(number),
      ),
    ).toBe(true);
  });

  it("of unknown type is not possible, and not an error", () => {
    expect(refine(Value.dynamic, { notNull: true })).toBe(Value.dynamic);
  });

  const collapsing: readonly (readonly [string, Value, Refinements, Value])[] = [
    [
      "a number between equal bounds",
      Value.unknown(number),
      { notNull: true, min: { value: 3 }, max: { value: 3 } },
      Value.number(3),
    ],
    [
      "an empty list",
      Value.unknown(Type.list(string)),
      { notNull: true, maxLength: 0 },
      Value.list([], string),
    ],
    [
      "an empty map",
      Value.unknown(Type.map(string)),
      { notNull: true, maxLength: 0 },
      Value.map({}, string),
    ],
    [
      "a list of known length",
      Value.unknown(Type.list(string)),
      { notNull: true, minLength: 2, maxLength: 2 },
      Value.list([Value.unknown(string), Value.unknown(string)]),
    ],
    [
      "a set of one element",
      Value.unknown(Type.set(string)),
      { notNull: true, minLength: 1, maxLength: 1 },
      Value.set([Value.unknown(string)]),
    ],
  ];

  it.each(collapsing)("leaves one value: %s", (_name, unknown, refinements, expected) => {
    expect(refine(unknown, refinements).rawEquals(expected)).toBe(true);
  });

  it("does not leave one value while it may be null", () => {
    expect(refine(Value.unknown(number), { min: { value: 3 }, max: { value: 3 } }).isKnown).toBe(
      false,
    );
    expect(refine(Value.unknown(Type.list(string)), { maxLength: 0 }).isKnown).toBe(false);
  });

  it("does not build a list of any claimed length", () => {
    const huge = refine(Value.unknown(Type.list(string)), {
      notNull: true,
      minLength: 1e9,
      maxLength: 1e9,
    });
    expect(huge.isKnown).toBe(false);
    expect(rangeOf(huge)).toMatchObject({ minLength: 1e9, maxLength: 1e9 });
  });
});

describe("contradictions", () => {
  const cases: readonly (readonly [string, () => unknown, string])[] = [
    [
      "bounds that cross",
      () => refine(Value.unknown(number), { min: { value: 2 }, max: { value: 1 } }),
      "CTY_REFINEMENT",
    ],
    [
      "an empty range",
      () =>
        refine(Value.unknown(number), { min: { value: 1, inclusive: false }, max: { value: 1 } }),
      "CTY_REFINEMENT",
    ],
    [
      "lengths that cross",
      () => refine(Value.unknown(Type.list(string)), { minLength: 2, maxLength: 1 }),
      "CTY_REFINEMENT",
    ],
    [
      "prefixes that differ",
      () => refine(refine(Value.unknown(string), { fullPrefix: "ab" }), { fullPrefix: "ac" }),
      "CTY_REFINEMENT",
    ],
    ["null that must not be", () => refineNotNull(Value.null(string)), "CTY_REFINEMENT"],
    [
      "a known string without the prefix",
      () => refine(Value.string("abc"), { fullPrefix: "b" }),
      "CTY_REFINEMENT",
    ],
    [
      "a known number out of bounds",
      () => refine(Value.number(5), { max: { value: 5, inclusive: false } }),
      "CTY_REFINEMENT",
    ],
    [
      "a known list of another length",
      () => refine(Value.list([Value.zero]), { minLength: 2 }),
      "CTY_REFINEMENT",
    ],
    [
      "a prefix of a number",
      () => refine(Value.unknown(number), { fullPrefix: "a" }),
      "CTY_WRONG_TYPE",
    ],
    [
      "bounds of a bool",
      () => refine(Value.unknown(bool), { min: { value: 1 } }),
      "CTY_WRONG_TYPE",
    ],
    [
      "a length of an object",
      () => refine(Value.unknown(Type.object({})), { minLength: 1 }),
      "CTY_WRONG_TYPE",
    ],
  ];

  it.each(cases)("%s", (_name, run, code) => {
    expect(codeOf(run)).toBe(code);
  });

  it("do not arise where a known value fits", () => {
    const value = Value.string("ami-123");
    expect(refine(value, { notNull: true, fullPrefix: "ami-" })).toBe(value);
    // What is said about the content holds only if there is any.
    expect(refine(Value.null(number), { min: { value: 1 } }).isNull).toBe(true);
  });
});

describe("ranges", () => {
  it("of known values are exact", () => {
    expect(rangeOf(Value.string("abc"))).toMatchObject({ isNull: false, prefix: "abc" });
    expect(rangeOf(Value.null(string))).toMatchObject({ isNull: true });
    expect(rangeOf(Value.list([Value.zero, Value.zero]))).toMatchObject({
      minLength: 2,
      maxLength: 2,
    });
    expect(rangeOf(Value.number(3)).min?.value.text()).toBe("3");
    expect(rangeOf(Value.dynamic)).toMatchObject({ isNull: undefined, type: dynamic });
  });

  it("of marked values are not given out", () => {
    expect(codeOf(() => rangeOf(Value.string("secret").mark(Mark.sensitive)))).toBe("CTY_MARKED");
  });
});

describe("the safe part of a known prefix", () => {
  it.each([
    ["hello", "hell", "the last letter could get an accent"],
    ["https://", "https://", "a delimiter joins with nothing"],
    ["ami-0", "ami-", "a digit could become a keycap"],
    ["a=", "a", "could become not equal"],
    ["", "", "nothing is safe"],
    ["\u00e9", "", "could get a second accent"],
    ["e\u0301-", "\u00e9-", "is normalised"],
    ["日本", "日", "clusters are kept whole"],
    ["👩‍💻", "", "clusters are kept whole"],
    ["한글-", "한글-", "a delimiter behind Hangul"],
    ["가", "", "could get a final consonant"],
    ["line\nnext-", "line", "the reference stops at a bare line break"],
    ["line\r\nnext-", "line\r\nnext-", "but not at the pair"],
  ])("%j gives %j: %s", (prefix, safe) => {
    expect(safeKnownPrefix(prefix)).toBe(safe);
    expect(rangeOf(refine(Value.unknown(string), { prefix })).prefix).toBe(safe);
  });
});

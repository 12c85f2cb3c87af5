import { describe, expect, it } from "vitest";
import {
  add,
  argumentError,
  CtyError,
  defineCtyFunction,
  type FunctionSpec,
  length,
  Mark,
  rangeOf,
  Type,
  unpredictable,
  Value,
} from "../index.ts";

const { string, number, dynamic } = Type;
const s = (text: string) => Value.string(text);

/** Upper case, as a language would declare it. */
const upper = defineCtyFunction({
  parameters: [{ name: "text", type: string }],
  returns: string,
  refineResult: { notNull: true },
  implement: ([text]) => s((text ?? s("")).asString().toUpperCase()),
});

/** Any number of values of one type as a list. */
const listOf = defineCtyFunction({
  parameters: [],
  variadic: { name: "parts", type: dynamic, allowNull: true, allowUnknown: true },
  returns: (args) => {
    const [first] = args;
    if (first === undefined) throw argumentError(0, "at least one value is needed");
    return Type.list(first.type);
  },
  implement: (args) => Value.list(args),
});

function errorOf(run: () => unknown): CtyError {
  try {
    run();
  } catch (error) {
    if (error instanceof CtyError) return error;
    throw error;
  }
  throw new TypeError("nothing was thrown");
}

describe("a call", () => {
  it("gives the implementation what it declared to take", () => {
    expect(upper.call([s("abc")]).asString()).toBe("ABC");
    expect(listOf.call([s("a"), Value.null(string)]).size).toBe(2);
    expect(listOf.returnType([s("a")])).toBe(Type.list(string));
  });

  it.each([
    ["too few arguments", [], "CTY_ARGUMENT_COUNT", undefined],
    ["too many arguments", [s("a"), s("b")], "CTY_ARGUMENT_COUNT", undefined],
    ["a null", [Value.null(string)], "CTY_ARGUMENT", 0],
    ["another type", [Value.zero], "CTY_ARGUMENT", 0],
  ] as const)("refuses %s", (_name, args, code, argument) => {
    for (const run of [() => upper.call(args), () => upper.returnType(args)]) {
      expect(errorOf(run)).toMatchObject({ code, argument });
    }
  });

  it("counts variadic arguments on", () => {
    const pick = defineCtyFunction({
      parameters: [{ name: "index", type: number }],
      variadic: { name: "texts", type: string },
      returns: string,
      implement: ([, ...texts]) => texts[0] ?? s(""),
    });
    expect(errorOf(() => pick.call([Value.zero, s("a"), Value.true])).argument).toBe(2);
    expect(errorOf(() => pick.call([]))).toMatchObject({ code: "CTY_ARGUMENT_COUNT" });
    expect(pick.parameterAt(7)?.name).toBe("texts");
    expect(upper.parameterAt(1)).toBeUndefined();
  });
});

describe("an unknown argument", () => {
  it("makes the result unknown, with what is declared about every result", () => {
    const result = upper.call([Value.unknown(string)]);
    expect(result.isKnown).toBe(false);
    expect(rangeOf(result).isNull).toBe(false);
  });

  it("reaches an implementation that takes it, also inside of a known one", () => {
    const count = defineCtyFunction({
      parameters: [{ name: "list", type: Type.list(dynamic) }],
      returns: number,
      implement: ([list]) => length(list ?? Value.dynamic),
    });
    expect(count.call([Value.list([Value.unknown(string)])]).asInteger()).toBe(1);
    expect(listOf.call([Value.unknown(string)]).elements()[0]?.isKnown).toBe(false);
  });

  it("of unknown type makes the type of the result unknown, unless that is declared to be fine", () => {
    expect(upper.call([Value.dynamic])).toBe(Value.dynamic);
    expect(upper.returnType([Value.dynamic])).toBe(dynamic);
    const typed = defineCtyFunction({
      ...upper.spec,
      parameters: [{ name: "text", type: string, allowDynamicType: true }],
    });
    expect(typed.returnType([Value.dynamic])).toBe(string);
    const result = typed.call([Value.dynamic]);
    expect([result.type, result.isKnown]).toEqual([string, false]);
  });
});

describe("marks", () => {
  const secret = s("abc").mark(Mark.sensitive);

  it("of arguments, and of their parts, go to the result", () => {
    expect(String(upper.call([secret]).marks)).toBe("sensitive");
    const nested = listOf.call([Value.tuple([secret])]);
    expect(nested.hasMark(Mark.sensitive)).toBe(true);
    expect(nested.unmark()[0].containsMarks).toBe(false);
  });

  it("of all arguments go to an unknown result", () => {
    const join = defineCtyFunction({
      parameters: [
        { name: "a", type: string },
        { name: "b", type: string },
      ],
      returns: string,
      implement: () => s(""),
    });
    expect(String(join.call([Value.unknown(string), secret]).marks)).toBe("sensitive");
    expect(String(join.call([Value.dynamic, secret]).marks)).toBe("sensitive");
  });

  it("reach an implementation that asked for them, which then answers for them", () => {
    const seen: boolean[] = [];
    const keep = defineCtyFunction({
      parameters: [{ name: "value", type: dynamic, allowMarked: true }],
      returns: (args) => args[0]?.type ?? dynamic,
      implement: ([value]) => {
        seen.push(value?.isMarked === true);
        return (value ?? Value.dynamic).unmark()[0];
      },
    });
    expect(keep.call([secret]).isMarked).toBe(false);
    expect(seen).toEqual([true]);
  });
});

describe("what goes wrong inside", () => {
  const failing = (spec: Partial<FunctionSpec>) =>
    defineCtyFunction({ parameters: [], returns: string, implement: () => s("x"), ...spec });

  it("is wrapped, so that it does not bring the caller down", () => {
    const cause = new RangeError("boom");
    const broken = failing({
      implement: () => {
        throw cause;
      },
    });
    expect(errorOf(() => broken.call([]))).toMatchObject({ code: "CTY_FUNCTION", cause });
    const untyped = failing({
      returns: () => {
        throw cause;
      },
    });
    expect(errorOf(() => untyped.call([]))).toMatchObject({ code: "CTY_FUNCTION", cause });
  });

  it("passes as it is when it is an error about an argument", () => {
    const picky = failing({
      implement: () => {
        throw argumentError(0, "not this one");
      },
    });
    expect(errorOf(() => picky.call([]))).toMatchObject({ code: "CTY_ARGUMENT", argument: 0 });
  });

  it("is found when the result is not what was declared", () => {
    expect(errorOf(() => failing({ returns: number }).call([])).code).toBe("CTY_FUNCTION");
    const null_ = failing({ refineResult: { notNull: true }, implement: () => Value.null(string) });
    expect(errorOf(() => null_.call([])).code).toBe("CTY_FUNCTION");
    expect(failing({ returns: dynamic }).call([]).asString()).toBe("x");
  });
});

describe("arguments", () => {
  it("are converted to what the parameters want", () => {
    const args = upper.convertArguments([Value.number(1)]);
    expect(upper.call(args).asString()).toBe("1");
    const error = errorOf(
      () => listOf.convertArguments([]) && upper.convertArguments([Value.emptyTuple]),
    );
    expect(error).toMatchObject({ code: "CTY_ARGUMENT", argument: 0 });
    expect(errorOf(() => upper.convertArguments([])).code).toBe("CTY_ARGUMENT_COUNT");
  });

  it("that do not fit somewhere inside are reported with the path", () => {
    const sum = defineCtyFunction({
      parameters: [{ name: "numbers", type: Type.list(number) }],
      returns: number,
      implement: ([list]) => (list?.elements() ?? []).reduce(add, Value.zero),
    });
    expect(
      sum.call(sum.convertArguments([Value.tuple([s("1"), Value.number(2)])])).asInteger(),
    ).toBe(3);
    const error = errorOf(() => sum.convertArguments([Value.tuple([s("1"), s("x")])]));
    expect([error.argument, String(error.path)]).toEqual([0, "[1]"]);
  });
});

it("an unpredictable function checks its arguments and says nothing else", () => {
  const later = unpredictable(upper);
  const result = later.call([s("a").mark(Mark.sensitive)]);
  expect([result.isKnown, result.type, result.hasMark(Mark.sensitive)]).toEqual([
    false,
    string,
    true,
  ]);
  expect(rangeOf(result.unmark()[0]).isNull).toBe(false);
  expect(errorOf(() => later.call([Value.zero])).code).toBe("CTY_ARGUMENT");
});

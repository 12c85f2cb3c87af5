import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  type Type as AnyType,
  absolute,
  add,
  and,
  CtyError,
  deepMarks,
  divide,
  equal,
  greaterThan,
  greaterThanOrEqual,
  hasElement,
  hasIndex,
  index,
  intersectSets,
  length,
  lessThan,
  lessThanOrEqual,
  Mark,
  modulo,
  multiply,
  negate,
  not,
  notEqual,
  or,
  refines,
  subtract,
  subtractSets,
  symmetricDifferenceSets,
  Type,
  unionSets,
  Value,
} from "../index.ts";
import {
  number as anyNumber,
  value as anyValue,
  type,
  valueOf,
} from "../testing/vectors/arbitraries.ts";
import { build, type Notation } from "../testing/vectors/notation.ts";
import { replaceSome } from "../testing/vectors/replace.ts";

type Operation = (...operands: Value[]) => Value;

const known = { unknowns: false, depth: 2 } as const;
const pairOf = (t: AnyType) => fc.tuple(valueOf(t, known), valueOf(t, known));
const numbers = fc.tuple(anyNumber, anyNumber);
const same = type({ depth: 2 }).chain(pairOf);
const sets = type({ depth: 1 }).chain((t) => pairOf(Type.set(t)));
const lists = fc.tuple(
  anyValue(known),
  fc.integer({ min: -1, max: 4 }).map((i) => ({ i: String(i) })),
);

const OPERATIONS: readonly (readonly [string, Operation, fc.Arbitrary<readonly Notation[]>])[] = [
  ["add", add, numbers],
  ["subtract", subtract, numbers],
  ["multiply", multiply, numbers],
  ["divide", divide, numbers],
  ["modulo", modulo, numbers],
  ["negate", negate, anyNumber.map((a) => [a])],
  ["absolute", absolute, anyNumber.map((a) => [a])],
  ["lessThan", lessThan, numbers],
  ["greaterThan", greaterThan, numbers],
  ["lessThanOrEqual", lessThanOrEqual, numbers],
  ["greaterThanOrEqual", greaterThanOrEqual, numbers],
  ["and", and, pairOf(Type.bool)],
  ["or", or, pairOf(Type.bool)],
  ["not", not, valueOf(Type.bool, known).map((a) => [a])],
  ["equal", equal, same],
  ["notEqual", notEqual, same],
  ["index", index, lists],
  ["hasIndex", hasIndex, lists],
  ["length", length, anyValue(known).map((a) => [a])],
  [
    "hasElement",
    hasElement,
    type({ depth: 1 }).chain((t) => fc.tuple(valueOf(Type.set(t), known), valueOf(t, known))),
  ],
  ["unionSets", unionSets, sets],
  ["intersectSets", intersectSets, sets],
  ["subtractSets", subtractSets, sets],
  ["symmetricDifferenceSets", symmetricDifferenceSets, sets],
];

/** The result, or undefined where the operation refuses the operands. */
function attempt(operation: Operation, operands: readonly Value[]): Value | undefined {
  try {
    return operation(...operands);
  } catch (error) {
    if (error instanceof CtyError) return undefined;
    throw error;
  }
}

describe.each(OPERATIONS)("%s", (_name, operation, operands) => {
  it("of operands with unknown parts allows for the result of the known ones", () => {
    fc.assert(
      fc.property(operands, fc.nat(), (notations, seed) => {
        const values = notations.map(build);
        const result = attempt(operation, values);
        fc.pre(result !== undefined);
        const open = values.map((value, i) =>
          replaceSome(value, seed + i, (part) => Value.unknown(part.type)),
        );
        const early = attempt(operation, open);
        expect(early !== undefined && refines(result, early)).toBe(true);
      }),
    );
  });

  it("passes the marks of the operands to the result", () => {
    fc.assert(
      fc.property(operands, (notations) => {
        const values = notations.map(build);
        const result = attempt(operation, values);
        fc.pre(result !== undefined);
        const marked = values.map((value, i) => value.mark(Mark.of(`operand ${i}`)));
        const marks = deepMarks(operation(...marked));
        expect(marks.size).toBe(values.length);
      }),
    );
  });
});

describe("sets agree with a naive model", () => {
  /** Elements of a model: the first of each group of equal ones. */
  function distinct(values: readonly Value[]): Value[] {
    return values.filter(
      (value, i) => !values.slice(0, i).some((before) => before.equals(value) === true),
    );
  }

  const has = (values: readonly Value[], value: Value) =>
    values.some((own) => own.equals(value) === true);

  /** Zeros of both signs are equal, but hash differently, in the reference as well; they are left out. */
  const plain = (notation: Notation): boolean => !JSON.stringify(notation).includes("-0");

  const elements = type({ depth: 2 }).chain((t) =>
    fc.record({
      t: fc.constant(t),
      a: fc.array(valueOf(t, known).filter(plain), { maxLength: 6 }),
      b: fc.array(valueOf(t, known).filter(plain), { maxLength: 6 }),
    }),
  );

  it("in what they hold, whatever the order of insertion", () => {
    fc.assert(
      fc.property(elements, ({ t, a, b }) => {
        const values = [...a, ...b, ...a].map(build);
        const model = distinct(values);
        const set = Value.set(values, t);
        expect(set.size).toBe(model.length);
        expect(set.elements().every((element) => has(model, element))).toBe(true);
        const backwards = Value.set(values.toReversed(), t);
        expect(backwards.equals(set)).toBe(true);
        expect(
          backwards
            .elements()
            .every((element, i) => element.equals(set.elements()[i] ?? Value.dynamic) === true),
        ).toBe(true);
      }),
    );
  });

  it("in operations", () => {
    fc.assert(
      fc.property(elements, ({ t, a, b }) => {
        const [x, y] = [a.map(build), b.map(build)];
        const [left, right] = [Value.set(x, t), Value.set(y, t)];
        const model = {
          union: distinct([...x, ...y]),
          intersection: distinct(x).filter((v) => has(y, v)),
          difference: distinct(x).filter((v) => !has(y, v)),
        };
        const expectSame = (set: Value, values: readonly Value[]): void => {
          expect(set.size).toBe(values.length);
          expect(set.elements().every((element) => has(values, element))).toBe(true);
        };
        expectSame(unionSets(left, right), model.union);
        expectSame(intersectSets(left, right), model.intersection);
        expectSame(subtractSets(left, right), model.difference);
        const both = distinct([...model.difference, ...distinct(y).filter((v) => !has(x, v))]);
        expectSame(symmetricDifferenceSets(left, right), both);
        for (const value of [...x, ...y]) {
          expect(hasElement(left, value).asBoolean()).toBe(has(x, value));
        }
      }),
    );
  });
});

describe("equality", () => {
  it("is an equivalence of known values", () => {
    fc.assert(
      fc.property(
        type({ depth: 2 }).chain((t) => fc.tuple(valueOf(t, known), valueOf(t, known))),
        ([one, other]) => {
          const [a, b] = [build(one), build(other)];
          expect(a.equals(a)).toBe(true);
          expect(a.equals(b)).toBe(b.equals(a));
          if (a.rawEquals(b)) expect(a.equals(b)).toBe(true);
        },
      ),
    );
  });
});

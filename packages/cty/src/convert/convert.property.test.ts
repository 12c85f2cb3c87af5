import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { CtyError, convert, deepMarks, refines, Type, unify, Value } from "../index.ts";
import {
  value as anyValue,
  relatedConstraint,
  type,
  valueOf,
} from "../testing/vectors/arbitraries.ts";
import { build, dump } from "../testing/vectors/notation.ts";
import { replaceSome } from "../testing/vectors/replace.ts";

/** The conversion, or undefined where there is none. */
function tryConvert(value: Value, target: Type): Value | undefined {
  try {
    return convert(value, target);
  } catch (error) {
    if (error instanceof CtyError && error.code === "CTY_CONVERSION") return undefined;
    throw error;
  }
}

const convertible = type({ depth: 3 }).chain((t) =>
  fc.record({ notation: valueOf(t, { marks: true }), target: relatedConstraint(t) }),
);

describe("conversion", () => {
  it("is idempotent", () => {
    fc.assert(
      fc.property(convertible, ({ notation, target }) => {
        const once = tryConvert(build(notation), target);
        fc.pre(once !== undefined);
        expect(dump(convert(once, target))).toEqual(dump(once));
      }),
    );
  });

  it("never loses a mark that is not on something that was left out", () => {
    const whole = fc.record({
      notation: anyValue({ depth: 2, marks: true }),
      kind: fc.constantFrom("list", "set", "same"),
    });
    fc.assert(
      fc.property(whole, ({ notation, kind }) => {
        const value = build(notation);
        const wrapped = Value.tuple([value, value]);
        const target =
          kind === "same"
            ? Type.dynamic
            : kind === "list"
              ? Type.list(Type.dynamic)
              : Type.set(Type.dynamic);
        const result = tryConvert(wrapped, target);
        fc.pre(result !== undefined);
        expect(deepMarks(result).equals(deepMarks(value))).toBe(true);
      }),
    );
  });

  it("of a value with unknowns allows for what the known value converts to", () => {
    const pair = type({ depth: 2 }).chain((t) =>
      fc.record({
        notation: valueOf(t, { unknowns: false }),
        target: relatedConstraint(t),
        seed: fc.nat(),
      }),
    );
    fc.assert(
      fc.property(pair, ({ notation, target, seed }) => {
        const known = build(notation);
        const converted = tryConvert(known, target);
        fc.pre(converted !== undefined);
        // An empty collection of open collections keeps its open type, as in the reference, while an unknown one
        // takes that of its source.
        fc.pre(!converted.type.hasDynamic);
        const placeholder = replaceSome(known, seed, (part) => Value.unknown(part.type));
        expect(refines(known, placeholder)).toBe(true);
        const early = tryConvert(placeholder, target);
        expect(early !== undefined && refines(converted, early)).toBe(true);
      }),
    );
  });
});

describe("unification", () => {
  const types = type({ depth: 2 }).chain((t) =>
    fc.array(relatedConstraint(t), { minLength: 1, maxLength: 4 }),
  );

  it("gives a type that every safe conversion reaches", () => {
    fc.assert(
      fc.property(types, (all) => {
        const unified = unify(all);
        fc.pre(unified !== undefined);
        for (const [i, conversion] of unified.conversions.entries()) {
          const source = Value.unknown(all[i] ?? Type.dynamic);
          const result = conversion === undefined ? source : conversion(source);
          expect(refines(result, Value.unknown(unified.type))).toBe(true);
        }
      }),
    );
  });

  it("does not change when a type is there twice", () => {
    fc.assert(
      fc.property(types, (all) => {
        const once = unify(all)?.type;
        const twice = unify([...all, ...all])?.type;
        expect(once === undefined ? twice === undefined : twice?.equals(once)).toBe(true);
      }),
    );
  });
});

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  CtyError,
  decodeJson,
  decodeMsgpack,
  encodeJson,
  encodeMsgpack,
  Type,
  Value,
} from "../index.ts";
import {
  value as anyValue,
  relatedConstraint,
  type,
  valueOf,
} from "../testing/vectors/arbitraries.ts";
import { build, doubleOfBits } from "../testing/vectors/notation.ts";

/**
 * Whole doubles beyond 53 bits are written with as few digits as identify them among doubles, which is another integer;
 * they are left out where values are compared.
 */
function hasLargeDouble(notation: unknown): boolean {
  if (typeof notation !== "object" || notation === null) return false;
  if ("d" in notation && typeof notation.d === "string") {
    return Math.abs(doubleOfBits(notation.d)) >= 2 ** 53;
  }
  return Object.values(notation).some(hasLargeDouble);
}

describe("msgpack", () => {
  it("reads what it writes, with its own type and with an open one", () => {
    fc.assert(
      fc.property(anyValue({ open: true }), fc.boolean(), (notation, open) => {
        fc.pre(!hasLargeDouble(notation) && !hasNegativeZero(notation));
        const value = build(notation);
        const wanted = open ? Type.dynamic : value.type;
        const bytes = encodeMsgpack(value, wanted);
        const back = decodeMsgpack(bytes, wanted);
        expect(back.type.equals(value.type)).toBe(true);
        expect(back.equals(value)).not.toBe(false);
        expect(Buffer.compare(encodeMsgpack(back, wanted), bytes)).toBe(0);
      }),
    );
  });

  it("gives equal values equal bytes", () => {
    const shuffled = fc
      .array(valueOf(Type.object({ a: Type.string, b: Type.number }), { unknowns: false }), {
        minLength: 1,
      })
      .chain((parts) =>
        fc.tuple(fc.constant(parts), fc.shuffledSubarray(parts, { minLength: parts.length })),
      );
    fc.assert(
      fc.property(shuffled, ([one, other]) => {
        // Elements whose numbers print alike stand in a set in the order in which they came, as in the reference.
        fc.pre(!one.some(hasLargeDouble));
        const [a, b] = [one, other].map((parts) => encodeMsgpack(Value.set(parts.map(build))));
        expect(Buffer.compare(a ?? Buffer.of(), b ?? Buffer.of())).toBe(0);
      }),
    );
  });

  it("refuses any damaged bytes with its own error, or reads a value of the type", () => {
    const damaged = type({ open: true })
      .chain((t) => fc.tuple(fc.constant(t), valueOf(t)))
      .chain(([t, notation]) => {
        const bytes = encodeMsgpack(build(notation), t);
        const change = fc.tuple(
          fc.nat({ max: Math.max(0, bytes.length - 1) }),
          fc.nat({ max: 255 }),
        );
        return fc.record({
          t: fc.constant(t),
          bytes: fc.constant(bytes),
          changes: fc.array(change, { maxLength: 3 }),
          cut: fc.nat({ max: bytes.length }),
        });
      });
    fc.assert(
      fc.property(damaged, ({ t, bytes, changes, cut }) => {
        const copy = Uint8Array.from(bytes);
        for (const [position, byte] of changes) copy[position] = byte;
        expectValueOrError(() => decodeMsgpack(copy.subarray(0, cut), t), t);
        expectValueOrError(() => decodeMsgpack(copy, t), t);
      }),
    );
  });

  it("is safe to give any bytes", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 64 }), type({ open: true }), (bytes, t) => {
        expectValueOrError(() => decodeMsgpack(bytes, t), t);
      }),
    );
  });
});

describe("JSON", () => {
  it("reads what it writes, with its own type and with an open one", () => {
    fc.assert(
      fc.property(anyValue({ unknowns: false }), fc.boolean(), (notation, open) => {
        const value = build(notation);
        fc.pre(!hasLargeDouble(notation) && !hasNegativeZero(notation) && !hasInfinity(value));
        const wanted = open ? Type.dynamic : value.type;
        const json = encodeJson(value, wanted);
        expect(() => JSON.parse(json)).not.toThrow();
        const back = decodeJson(json, wanted);
        expect(back.type.equals(value.type)).toBe(true);
        expect(back.equals(value)).toBe(true);
        expect(encodeJson(back, wanted)).toBe(json);
      }),
    );
  });

  it("is safe to give any text", () => {
    const text = fc.oneof(
      fc.json(),
      fc.string(),
      fc.json().map((json) => json.slice(1)),
    );
    fc.assert(
      fc.property(text, type({ open: true }), (json, t) => {
        expectValueOrError(() => decodeJson(json, t), t);
      }),
    );
  });

  it("reads white space anywhere between tokens", () => {
    fc.assert(
      fc.property(anyValue({ unknowns: false, depth: 2 }), (notation) => {
        const value = build(notation);
        fc.pre(!hasInfinity(value));
        const pretty = JSON.stringify(JSON.parse(encodeJson(value, Type.dynamic)), undefined, "\t");
        // The platform rounds numbers, so only the shape is compared.
        expect(decodeJson(pretty, Type.dynamic).type.equals(value.type)).toBe(true);
      }),
    );
  });
});

it("both formats read the same value", () => {
  const convertible = type({ depth: 2 }).chain((t) =>
    fc.tuple(valueOf(t, { unknowns: false }), relatedConstraint(t)),
  );
  fc.assert(
    fc.property(convertible, ([notation, target]) => {
      const value = build(notation);
      fc.pre(!hasLargeDouble(notation) && !hasNegativeZero(notation) && !hasInfinity(value));
      const a = outcome(() => decodeJson(encodeJson(value, target), target));
      const b = outcome(() => decodeMsgpack(encodeMsgpack(value, target), target));
      // A text that says infinity is one to msgpack; JSON has no way to write it.
      fc.pre(!(b instanceof Value && hasInfinity(b)));
      if (a instanceof Value && b instanceof Value) expect(a.equals(b)).toBe(true);
      else expect(a instanceof Value).toBe(b instanceof Value);
    }),
  );
});

function outcome(run: () => Value): Value | CtyError {
  try {
    return run();
  } catch (error) {
    if (error instanceof CtyError) return error;
    throw error;
  }
}

function expectValueOrError(read: () => Value, t: Type): void {
  try {
    const value = read();
    expect(value.type.hasOptional).toBe(false);
    // Whatever was read is a proper value: it can be written again.
    expect(encodeMsgpack(value, t).length).toBeGreaterThan(0);
  } catch (error) {
    if (!(error instanceof CtyError)) throw error;
  }
}

function hasInfinity(value: Value): boolean {
  try {
    encodeJson(value);
    return false;
  } catch {
    return true;
  }
}

/** Neither format keeps the sign of zero, and printing does. */
function hasNegativeZero(notation: object): boolean {
  return (
    /"-0(?:\.0*)?(?:e[+-]?\d+)?"/i.test(JSON.stringify(notation)) ||
    JSON.stringify(notation).includes('"8000000000000000"')
  );
}

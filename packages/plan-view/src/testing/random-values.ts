import { Mark, Type, Value } from "@stackwright/cty";
import fc from "fast-check";

const names = ["a", "b", "name", "id", "Sid", "port"];

/** A type of at most the given depth. */
export function randomType(depth: number): fc.Arbitrary<Type> {
  const leaf = fc.constantFrom(Type.string, Type.number, Type.bool);
  if (depth === 0) return leaf;
  const inner = randomType(depth - 1);
  return fc.oneof(
    { weight: 1, arbitrary: leaf },
    inner.map((type) => Type.list(type)),
    inner.map((type) => Type.set(type)),
    inner.map((type) => Type.map(type)),
    fc.array(inner, { maxLength: 3 }).map((types) => Type.tuple(types)),
    fc
      .uniqueArray(fc.tuple(fc.constantFrom(...names), inner), {
        maxLength: 4,
        selector: ([name]) => name,
      })
      .map((members) => Type.object(Object.fromEntries(members))),
  );
}

const texts = fc.constantFrom(
  "",
  "a",
  "b",
  "c",
  "one\ntwo\nthree",
  "one\n2\nthree\n",
  '{"Statement":[{"Sid":"a","Action":["x","y"]}]}',
  '{"Statement":[{"Sid":"b","Action":["x"]},{"Sid":"a","Action":["y","x"]}]}',
  "[1]",
);

/** A value of a type, with nulls, unknowns and marks. */
export function randomValue(type: Type): fc.Arbitrary<Value> {
  return fc.tuple(content(type), fc.integer({ min: 0, max: 30 })).map(([value, chance]) => {
    if (chance === 0) return Value.null(type);
    if (chance === 1) return Value.unknown(type);
    if (chance === 2) return value.mark(Mark.sensitive);
    return chance === 3 ? value.mark(Mark.deprecated("old")) : value;
  });
}

function content(type: Type): fc.Arbitrary<Value> {
  switch (type.kind) {
    case "string":
      return texts.map((text) => Value.string(text));
    case "number":
      return fc.integer({ min: 0, max: 3 }).map((number) => Value.number(number));
    case "bool":
      return fc.boolean().map((truth) => Value.bool(truth));
    case "list":
      return fc
        .array(randomValue(type.element), { maxLength: 5 })
        .map((items) => Value.list(items, type.element));
    case "set":
      return fc
        .array(randomValue(type.element), { maxLength: 5 })
        .map((items) => Value.set(items, type.element));
    case "map":
      return fc
        .array(fc.tuple(fc.constantFrom(...names), randomValue(type.element)), { maxLength: 4 })
        .map((entries) => Value.map(entries, type.element));
    case "tuple":
      return fc.tuple(...type.elements.map(randomValue)).map((items) => Value.tuple(items));
    case "object":
      return fc
        .tuple(...type.names.map((_, index) => randomValue(type.types[index] ?? Type.string)))
        .map((values) =>
          Value.object(
            type.names.map((name, index) => [name, values[index] ?? Value.string("")] as const),
          ),
        );
    case "dynamic":
    case "capsule":
    default:
      return fc.constant(Value.string("x"));
  }
}

/** Two values of one type, or of two. */
export function twoValues(): fc.Arbitrary<readonly [Value, Value]> {
  return fc
    .tuple(randomType(3), randomType(2), fc.boolean())
    .chain(([type, other, same]) => fc.tuple(randomValue(type), randomValue(same ? type : other)));
}

import { describe, expect, it } from "vitest";
import {
  convert,
  decodeJson,
  decodeMsgpack,
  describeMismatch,
  diff,
  encodeJson,
  encodeMsgpack,
  equal,
  fromNative,
  MAX_TYPE_DEPTH,
  Mark,
  markWithPaths,
  refines,
  Type,
  toNative,
  transform,
  unify,
  unmarkDeepWithPaths,
  Value,
  walk,
} from "./index.ts";

/** A value as deeply nested as values can be, of structures and collections in turn. */
function deepest(leaf: Value): Value {
  let value = leaf;
  for (let i = 0; i < MAX_TYPE_DEPTH; i += 1) {
    if (i % 4 === 0) value = Value.tuple([value]);
    else if (i % 4 === 1) value = Value.object({ a: value });
    else value = i % 4 === 2 ? Value.list([value]) : Value.map({ k: value });
  }
  return value;
}

/** Runs with much of the stack already used, as a caller deep in an evaluation would. */
function underPressure<T>(frames: number, run: () => T): T {
  return frames === 0 ? run() : underPressure(frames - 1, run);
}

describe("the deepest value", () => {
  const value = deepest(Value.string("1"));
  const other = deepest(Value.string("2"));
  const types = [value.type, deepest(Value.number(1)).type];

  const work: readonly (readonly [string, () => unknown])[] = [
    ["is compared", () => equal(value, other).asBoolean()],
    ["is walked", () => walk(value, () => true)],
    [
      "is transformed",
      () =>
        transform(value, (_path, part) => (part.type === Type.string ? Value.string("x") : part)),
    ],
    [
      "is marked and unmarked",
      () => markWithPaths(value, unmarkDeepWithPaths(deepest(Value.true.mark(Mark.sensitive)))[1]),
    ],
    ["is converted", () => convert(value, deepest(Value.number(1)).type)],
    ["is unified", () => unify(types)],
    ["is unified with itself made a collection", () => unify([value.type, Type.map(Type.string)])],
    [
      "is found not to fit",
      () => describeMismatch(value.type, deepest(Value.list([], Type.bool)).type),
    ],
    [
      "is written and read as JSON",
      () => decodeJson(encodeJson(value, Type.dynamic), Type.dynamic),
    ],
    [
      "is written and read as msgpack",
      () => decodeMsgpack(encodeMsgpack(value, Type.dynamic), Type.dynamic),
    ],
    ["is compared part by part", () => diff(value, other)],
    ["is checked against another", () => refines(value, other)],
    ["becomes plain data and back", () => fromNative(toNative(value))],
    [
      "is put into a set",
      () => Value.set([deepest(Value.string("x"))].map((v) => v.elements()[0] ?? v)),
    ],
  ];

  it.each(work)("%s", (_name, run) => {
    expect(() => underPressure(1500, run)).not.toThrow(RangeError);
  });
});

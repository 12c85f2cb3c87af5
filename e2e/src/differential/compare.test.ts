import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { readCases } from "./case-files.ts";
import { compareRecordings } from "./compare.ts";
import { isList, isObject, type Json, type JsonObject, objectOf } from "./exact-json.ts";

const cases = readCases(join(import.meta.dirname, "../../cases"));
const recorded = cases.flatMap(({ name, expected }) =>
  expected === undefined ? [] : [{ name, expected }],
);

describe("a comparison with a recording", () => {
  it("finds nothing between a recording and itself", () => {
    for (const { name, expected } of recorded) {
      expect(compareRecordings(expected, expected), name).toEqual([]);
    }
  });

  it.each([
    ["the result of a step", ["result"], "other"],
    ["the exit code of a plan", ["plan", "exit"], "other"],
    ["the actions of a new plan", ["replan", "actions"], { x: ["create"] }],
    ["the state", ["state"], []],
    ["the planned changes", ["plan", "resource_changes"], []],
    ["the outputs", ["outputs"], { nobody: { value: null } }],
  ] as const)("finds a change of %s", (_what, path, value) => {
    let tried = 0;
    for (const { name, expected } of recorded) {
      const first = objectOf((expected.steps as readonly Json[])[0]);
      if (first.result !== "ok" || isEmpty(at(first, path))) continue;
      const changed = {
        ...expected,
        steps: [replace(first, path, value), ...rest(expected)],
      };
      expect(compareRecordings(expected, changed), name).not.toEqual([]);
      tried++;
    }
    expect(tried).toBeGreaterThan(3);
  });
});

function rest({ steps }: JsonObject): Json[] {
  return isList(steps) ? steps.slice(1) : [];
}

function at(value: Json, path: readonly string[]): Json | undefined {
  return path.reduce<Json | undefined>((inner, name) => objectOf(inner)[name], value);
}

/** Whether nothing is there, or so little that a change of it is none. */
function isEmpty(value: Json | undefined): boolean {
  if (value === undefined) return true;
  if (isList(value)) {
    return value.every((row) => isObject(row) && isList(row.actions) && row.actions[0] === "no-op");
  }
  return false;
}

function replace(value: Json, [name = "", ...path]: readonly string[], by: Json): JsonObject {
  const object = objectOf(value);
  return { ...object, [name]: path.length === 0 ? by : replace(object[name] ?? {}, path, by) };
}

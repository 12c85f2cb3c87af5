import { expect, test } from "vitest";
import { withHitProbes } from "./hit-probes.ts";
import { mutantsOf } from "./mutants-of.ts";

function after(source: string): string[] {
  return mutantsOf("a.ts", source).map(({ after: text }) => text);
}

test("operators, conditions, results, statements, awaits and literals are changed one at a time", () => {
  expect(after("const a = b < c && d;")).toEqual([
    "const a = b <= c && d;",
    "const a = b < c || d;",
  ]);
  expect(after("if (a) b();")).toEqual(["if (!(a)) b();", "if (a) ;"]);
  expect(after("async function f() { return await g(1n); }")).toEqual([
    "async function f() { return undefined as never; }",
    "async function f() { return g(1n); }",
    "async function f() { return await g((1n + 1n)); }",
  ]);
  expect(after("const a = b ?? true; const c = d.some(e);")).toEqual([
    "const a = b; const c = d.some(e);",
    "const a = b ?? false; const c = d.some(e);",
    "const a = b ?? true; const c = d.every(e);",
  ]);
});

test("what no caller can tell apart is not changed", () => {
  expect(after("function f() { return; }")).toEqual([]);
  expect(after("function f() { return undefined; }")).toEqual([]);
  expect(after("function f() { return false; }")).toEqual(["function f() { return true; }"]);
  expect(after("const a = (b, c) => -1;")).toEqual([]);
  expect(after("a satisfies never;")).toEqual([]);
  expect(after("function f() { return a satisfies never; }")).toEqual([]);
  expect(after("function f() { return a satisfies B; }")).toEqual([
    "function f() { return undefined as never; }",
  ]);
});

test("types and imports are not changed", () => {
  expect(
    after('import { a } from "b"; type C = 1 | 2; const d = e as 3; interface F { g: 4 }'),
  ).toEqual([]);
});

test("the same change of the same text keeps its id in another place of the file", () => {
  const [here] = mutantsOf("a.ts", "const a = b < c;");
  const [there] = mutantsOf("a.ts", "const x = y;\n\nconst a = b < c;");
  expect(there?.id).toBe(here?.id);
  const [first, second] = mutantsOf("a.ts", "const a = b < c;\nconst a = b < c;");
  expect(second?.id).not.toBe(first?.id);
});

test("probes are numbered as the owners of mutants are", () => {
  const source = "const f = (a) => a < 1;\nfunction g() { return h(() => ({ b: 1 < 2 })); }\n";
  expect(withHitProbes("a.ts", source)).toBe(
    [
      'const f = (a) => (process.emit("stackwright-function-called", "a.ts:0"), a < 1);',
      'function g() {process.emit("stackwright-function-called", "a.ts:1"); return h(() => ' +
        '(process.emit("stackwright-function-called", "a.ts:2"), ({ b: 1 < 2 }))); }',
      "",
    ].join("\n"),
  );
  const owners = mutantsOf("a.ts", source).map(({ kind, owner }) => `${kind} ${owner}`);
  expect(owners).toEqual([
    "operator 0",
    "literal 0",
    "result 1",
    "literal 2",
    "operator 2",
    "literal 2",
  ]);
});

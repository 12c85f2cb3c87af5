import { Mark, Type, Value } from "@stackwright/cty";
import { describe, expect, it } from "vitest";
import { consoleScope } from "../console/console.ts";
import { createScope } from "../eval/scope.ts";
import type { Diagnostic } from "../syntax/diagnostic.ts";
import { parseExpression } from "../syntax/parse.ts";
import { type Expansion, expandRepetition } from "./expansion.ts";

const scope = createScope({
  functions: consoleScope().functions,
  variables: {
    unknown: Value.unknown(Type.string),
    number: Value.unknown(Type.number),
    open: Value.dynamic,
    set: Value.unknown(Type.set(Type.string)),
    ephemeral: Value.number(1).mark(Mark.ephemeral),
  },
});

function expand(
  argument: "count" | "forEach",
  text: string,
): { expansion: Expansion; summaries: string[] } {
  const { value } = parseExpression({ name: "t", text });
  const diagnostics: Diagnostic[] = [];
  const none = { count: undefined, forEach: undefined };
  const expansion = expandRepetition({ ...none, [argument]: value }, scope, diagnostics);
  return { expansion, summaries: diagnostics.map(({ summary }) => summary) };
}

describe("without count and for_each", () => {
  it("there is one instance", () => {
    const none = { count: undefined, forEach: undefined };
    expect(expandRepetition(none, scope, [])).toEqual({ kind: "single" });
  });
});

describe("count", () => {
  it.each([
    ["3", 3],
    ['"2"', 2],
    ["0", 0],
    ["sensitive(1)", 1],
    ["length([1, 2])", 2],
  ])("%s", (text, count) => {
    expect(expand("count", text)).toEqual({ expansion: { kind: "count", count }, summaries: [] });
  });

  it.each(["null", "-1", "1.5", '"x"', "[]", "1e9", "ephemeral"])("%s is refused", (text) => {
    expect(expand("count", text)).toEqual({
      expansion: { kind: "invalid" },
      summaries: ["Invalid count argument"],
    });
  });

  it.each(["number", "open", "length(set)"])("%s is not known yet", (text) => {
    const { expansion, summaries } = expand("count", text);
    expect([expansion.kind, summaries]).toEqual(["unknown", []]);
  });
});

describe("for_each", () => {
  it.each([
    ["{ a = 1, b = unknown }", ["a", "b"]],
    ["tomap({ z = 1, a = 2 })", ["a", "z"]],
    ["{ a = sensitive(1) }", ["a"]],
    ['toset(["b", "a"])', ["a", "b"]],
    ["toset([])", []],
    ["{}", []],
  ])("%s", (text, keys) => {
    const { expansion, summaries } = expand("forEach", text);
    expect(summaries).toEqual([]);
    expect(expansion.kind === "for_each" ? [...expansion.entries.keys()] : expansion).toEqual(keys);
  });

  it.each([
    ["null", "Invalid for_each argument"],
    ['["a"]', "Invalid for_each argument"],
    ['tolist(["a"])', "Invalid for_each argument"],
    ['"a"', "Invalid for_each argument"],
    ["sensitive({ a = 1 })", "Invalid for_each argument"],
    ["toset([1])", "Invalid for_each set argument"],
    ['toset(["a", null])', "Invalid for_each set argument"],
    ["nope", "Reference to undeclared name"],
  ])("%s is refused", (text, summary) => {
    expect(expand("forEach", text)).toEqual({
      expansion: { kind: "invalid" },
      summaries: [summary],
    });
  });

  it.each(["open", "set", 'toset(["a", unknown])', "{ (unknown) = 1 }"])(
    "%s is not known yet",
    (text) => {
      const { expansion } = expand("forEach", text);
      expect(expansion.kind).toBe("unknown");
    },
  );
});

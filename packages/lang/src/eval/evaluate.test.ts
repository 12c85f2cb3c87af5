import { add, Mark, rangeOf, Type, Value } from "@stackwright/cty";
import { describe, expect, it } from "vitest";
import { consoleScope } from "../console/console.ts";
import { valueText } from "../console/value-text.ts";
import { jsonExpression } from "../syntax/json-expression.ts";
import { parseJson } from "../syntax/json-parser.ts";
import { parseExpression } from "../syntax/parse.ts";
import { diagnosticToJson } from "../syntax/render-json.ts";
import { type Evaluated, evaluate } from "./evaluate.ts";
import { createScope, type EvaluationScope } from "./scope.ts";

const { functions } = consoleScope();

const VALUES = {
  text: Value.unknown(Type.string),
  count: Value.unknown(Type.number),
  flag: Value.unknown(Type.bool),
  open: Value.dynamic,
  list: Value.unknown(Type.list(Type.string)),
  secret: Value.string("s").mark(Mark.sensitive),
  secretList: Value.unknown(Type.list(Type.number)).mark(Mark.sensitive),
  secretFlag: Value.true.mark(Mark.sensitive),
  known: Value.number(1),
};

function run(
  text: string,
  scope: EvaluationScope = createScope({ functions, variables: VALUES }),
): Evaluated {
  return evaluate(parseExpression({ name: "t", text }).value, scope);
}

function codes(text: string): string[] {
  return run(text).diagnostics.map(({ code }) => code);
}

describe("objects of JSON", () => {
  const found = (text: string): readonly string[] => {
    const variables = { k: Value.string("a") };
    const expression = jsonExpression(parseJson({ name: "t.json", text }).root, []);
    return evaluate(expression, createScope({ functions, variables })).diagnostics.map(
      ({ summary, subject }) => `${summary} ${subject?.start}-${subject?.end}`,
    );
  };

  it("have each attribute once", () => {
    expect(found('{"a": 1, "b": {"a": 1}}')).toEqual([]);
    expect(found('{"a": 1, "a": 1}')).toEqual(["Duplicate object attribute 9-12"]);
    expect(found('[{"b": {"${k}": 1, "a": 2}}]')).toEqual(["Duplicate object attribute 19-22"]);
  });

  it("differ in that from those of the native syntax, of which the last attribute counts", () => {
    const { value, diagnostics } = run("{ a = 1, a = 2 }.a");
    expect(diagnostics).toEqual([]);
    expect(value.equals(Value.number(2))).toBe(true);
  });
});

describe("unknown values", () => {
  it.each([
    ["count + 1", Type.number],
    ["count > 1", Type.bool],
    ['text == "a"', Type.bool],
    ["flag ? 1 : 2", Type.number],
    ['flag ? "a" : 2', Type.string],
    ["list[0]", Type.string],
    ["list[*]", Type.list(Type.string)],
    ["upper(text)", Type.string],
    ["[for x in list : x]", Type.dynamic],
    ["open.a.b[0]", Type.dynamic],
    ["{ (text) = 1 }", Type.dynamic],
    ["try(text, 1)", Type.dynamic],
    ["can(text)", Type.bool],
  ])("%s is unknown of its type", (text, type) => {
    const { value, diagnostics } = run(text);
    expect(diagnostics).toEqual([]);
    expect(value.isKnown).toBe(false);
    expect(value.type.equals(type)).toBe(true);
  });

  it("keep the known beginning of a template", () => {
    expect(rangeOf(run('"abc-${text}-x"').value)).toMatchObject({ prefix: "abc-", isNull: false });
  });

  it("keep what both arms of a conditional have in common", () => {
    const range = rangeOf(run("flag ? 3 : 7").value);
    expect([range.min?.value.toNumber(), range.max?.value.toNumber(), range.isNull]).toEqual([
      3,
      7,
      false,
    ]);
  });

  it("are decided by a deciding side of a logical operator", () => {
    expect(run("flag || true").value.equals(Value.true)).toBe(true);
    expect(run("false && flag").value.equals(Value.false)).toBe(true);
    expect(run("flag && true").value.isKnown).toBe(false);
  });
});

describe("errors", () => {
  it.each([
    ["nope", ["LANG_EVAL_REFERENCE"]],
    ["[nope, 1 + [], upper()]", ["LANG_EVAL_REFERENCE", "LANG_EVAL_OPERAND", "LANG_EVAL_ARITY"]],
    ["true || nope", []],
    ["nope && false", []],
    ["false || nope", ["LANG_EVAL_REFERENCE"]],
    ["true ? 1 : nope", []],
    ["false ? 1 : nope", ["LANG_EVAL_REFERENCE"]],
    ["true ? {a = 1} : []", ["LANG_EVAL_CONDITIONAL_TYPES"]],
    ["null ? 1 : 2", ["LANG_EVAL_CONDITION"]],
    ["try(nope, 1)", ["LANG_EVAL_REFERENCE"]],
    ["try([][0], 1)", []],
    ["{ a.b = 1 }", ["LANG_EVAL_KEY"]],
    ["uper(1)", ["LANG_EVAL_FUNCTION"]],
    ["[for x in [1, 2] : nope]", ["LANG_EVAL_REFERENCE", "LANG_EVAL_REFERENCE"]],
  ])("%s", (text, expected) => {
    expect(codes(text)).toEqual(expected);
  });

  it("suggest names and show values", () => {
    const [reference] = run("knwon + 1").diagnostics;
    expect(reference?.detail).toContain('Did you mean "known"?');
    const [operand] = run('known + "x${secret}"').diagnostics;
    expect(operand?.values).toEqual([{ traversal: "secret", statement: "has a sensitive value" }]);
    const [call] = run("substr(known, [], 1)").diagnostics;
    expect(call?.call?.signature).toBe("substr(str, offset, length)");
  });

  it.each([
    [
      "core::substr(known, [], 1)",
      {
        called_as: "core::substr",
        signature: {
          name: "substr",
          params: [
            { name: "str", type: "string" },
            { name: "offset", type: "number" },
            { name: "length", type: "number" },
          ],
          return_type: "string",
        },
      },
    ],
    ["join(1)", { called_as: "join", signature: { variadic_param: { type: ["list", "string"] } } }],
  ])("describe the function of %s as the reference command does", (text, expected) => {
    const [problem] = run(text).diagnostics;
    if (problem === undefined) throw new Error("no problem was found");
    expect(diagnosticToJson(problem).snippet?.function_call).toMatchObject(expected);
  });

  it("name the attribute in which the arms of a conditional differ", () => {
    const [problem] = run("true ? { a = { b = 1 } } : { a = { b = [] } }").diagnostics;
    expect(problem?.detail).toContain(
      'in the attribute "a": the values differ in the attribute "b"',
    );
  });
});

describe("marks", () => {
  it.each([
    "secret",
    '"a${secret}"',
    'secretFlag ? "a" : "b"',
    'true ? "a" : secret',
    "secretFlag || true",
    "[for x in [1] : x if secretFlag]",
    "{ (secret) = 1 }",
    "upper(secret)",
    "max(secretList...)",
  ])("of parts are on the result of %s", (text) => {
    const { value, diagnostics } = run(text);
    expect(diagnostics).toEqual([]);
    expect(value.hasMark(Mark.sensitive)).toBe(true);
  });
});

describe("lazy scopes", () => {
  it("are asked for one element only", () => {
    const asked: string[] = [];
    const scope: EvaluationScope = {
      functions,
      names: () => [],
      variable: (name) => (name === "key" ? Value.string("k") : undefined),
      resolve: ({ root, steps }) => {
        if (root !== "res") return undefined;
        asked.push(`${steps.length} steps`);
        return { value: Value.string("whole"), steps: steps.length };
      },
      element: ({ root }, key) => {
        asked.push(`${root}[${key.asString()}]`);
        return Value.object({ id: Value.string("one") });
      },
    };
    expect(valueText(run("res.a[key].id", scope).value)).toBe('"one"');
    expect(valueText(run('res.a["k"].id', scope).value)).toBe('"whole"');
    expect(asked).toEqual(["res[k]", "3 steps"]);
  });
});

describe("limits", () => {
  it("stop loops that multiply", () => {
    const loop = "[for a in range(1000) : [for b in range(1000) : [for c in range(1000) : 1]]]";
    const { diagnostics } = evaluate(
      parseExpression({ name: "t", text: loop }).value,
      createScope({ functions }),
      { maxSteps: 100_000 },
    );
    expect(diagnostics.map(({ code }) => code)).toEqual(["LANG_EVAL_LIMIT"]);
  });

  it("stop strings that multiply", () => {
    let text = '"0123456789"';
    for (let depth = 0; depth < 8; depth++) text = `join("", [for i in range(10) : ${text}])`;
    const { diagnostics } = evaluate(
      parseExpression({ name: "t", text }).value,
      createScope({ functions }),
      { maxStringLength: 100_000 },
    );
    expect(diagnostics.map(({ code }) => code)).toEqual(["LANG_EVAL_LIMIT"]);
  });

  it.each(["[MANY] == [] && true", "try([MANY], 1)", "can([MANY])"])(
    "stop reporting after the first problems of %s",
    (text) => {
      const { diagnostics } = run(text.replace("MANY", "missing, ".repeat(150_000)));
      expect(diagnostics.length).toBe(201);
      expect(diagnostics.at(0)?.code).toBe("LANG_EVAL_REFERENCE");
      expect(diagnostics.at(-1)).toMatchObject({
        code: "LANG_LIMIT_ERRORS",
        severity: "error",
        subject: { start: expect.any(Number) },
      });
    },
  );

  it.each([
    ["length(concat([MANY]))", "1, "],
    ["try(MANY)", "text, "],
  ])("leave room for as many arguments and elements as are written: %s", (text, part) => {
    expect(run(text.replace("MANY", part.repeat(150_000))).diagnostics).toEqual([]);
  });

  it("say so of YAML that is nested too deeply", () => {
    const text = `yamldecode("${"[".repeat(20_000)}${"]".repeat(20_000)}")`;
    const [problem, ...more] = run(text).diagnostics;
    expect(problem?.detail).toContain("nested at most 200 levels deep");
    expect(problem?.subject).toBeDefined();
    expect(more).toEqual([]);
  });

  it("stop values that double with every line", () => {
    for (const text of [
      "[value, value]",
      "{ a = value, b = value }",
      "[for x in [1, 2] : value]",
    ]) {
      let value = Value.number(1);
      let codes: string[] = [];
      for (let depth = 0; depth < 60 && codes.length === 0; depth++) {
        const result = run(text, createScope({ functions, variables: { value } }));
        codes = result.diagnostics.map(({ code }) => code);
        ({ value } = result);
      }
      expect(codes).toEqual(["LANG_EVAL_LIMIT"]);
    }
  });

  it("stop replacements that multiply", () => {
    const text =
      'replace(join("", [for i in range(1000) : "aaaaaaaaaa"]), search, join("", [for i in range(1000) : "bbbbbbbbbb"]))';
    for (const search of ["a", "", "/a/"]) {
      const scope = createScope({ functions, variables: { search: Value.string(search) } });
      const { diagnostics } = run(text, scope);
      expect(diagnostics.map(({ code }) => code)).toEqual(["LANG_EVAL_CALL"]);
    }
  });

  it("stop values that are nested ever deeper", () => {
    for (const text of ["[value]", "{ a = value }", "tolist([value])", "[for x in [value] : x]"]) {
      let value = Value.number(1);
      let codes: string[] = [];
      for (let depth = 0; depth < 1000 && codes.length === 0; depth++) {
        const result = run(text, createScope({ functions, variables: { value } }));
        codes = result.diagnostics.map(({ code }) => code);
        ({ value } = result);
      }
      expect(codes).toEqual(["LANG_EVAL_LIMIT"]);
    }
  });

  it("allow expressions that are nested as deep as the parser allows", () => {
    const text = `${"(".repeat(490)}1${")".repeat(490)}`;
    expect(run(text).value.equals(add(Value.zero, Value.number(1)))).toBe(true);
    const conditionals = `${"(flag ? 1 : ".repeat(240)}2${")".repeat(240)}`;
    expect(run(conditionals).diagnostics).toEqual([]);
    const splats = `[1]${"[*]".repeat(400)}`;
    expect(run(splats).diagnostics).toEqual([]);
  });
});

import { Mark, Type, Value } from "@stackwright/cty";
import { describe, expect, it } from "vitest";
import { loadModule } from "../config/load-module.ts";
import { createModuleScope } from "../config/module-scope.ts";
import { consoleScope } from "../console/console.ts";
import { valueText } from "../console/value-text.ts";
import { type Evaluated, evaluate } from "../eval/evaluate.ts";
import { createScope } from "../eval/scope.ts";
import { parseExpression } from "../syntax/parse.ts";
import {
  evaluateSettled,
  type ProviderCall,
  type ProviderFunctionResolver,
  type ProviderFunctionSchema,
  withProviderFunctions,
} from "./provider-functions.ts";

const TEXT = { allowNull: false, allowUnknown: false, description: "" };
const FUNCTIONS = new Map<string, ProviderFunctionSchema>([
  [
    "upper",
    {
      parameters: [{ name: "text", type: Type.string, ...TEXT }],
      returnType: Type.string,
      summary: "",
      description: "",
      deprecationMessage: "",
    },
  ],
  [
    "first",
    {
      parameters: [],
      variadic: {
        name: "values",
        type: Type.dynamic,
        ...TEXT,
        allowNull: true,
        allowUnknown: true,
      },
      returnType: Type.dynamic,
      summary: "",
      description: "",
      deprecationMessage: "Use element.",
    },
  ],
]);

function source(calls: string[] = []): ProviderFunctionResolver {
  return {
    functions: (provider) => (provider === "p" ? FUNCTIONS : undefined),
    providers: () => ["p"],
    call: ({ name, arguments: args }: ProviderCall) => {
      calls.push(`${name}(${args.map((arg) => (arg.isKnown ? valueText(arg) : "?")).join(", ")})`);
      const [arg] = args;
      if (name === "first") return Promise.resolve({ result: arg ?? Value.null(Type.dynamic) });
      const text = arg?.asString() ?? "";
      if (text === "fail") return Promise.resolve({ error: { text: "It failed.", argument: 0 } });
      if (text === "throw") return Promise.reject(new Error("gone"));
      return Promise.resolve({ result: Value.string(text.toUpperCase()) });
    },
  };
}

const VARIABLES = {
  later: Value.unknown(Type.string),
  parts: Value.list([Value.unknown(Type.string)]),
  hidden: Value.string("s").mark(Mark.sensitive),
};

async function run(text: string, calls: string[] = []): Promise<Evaluated> {
  const functions = withProviderFunctions(consoleScope().functions, source(calls));
  const scope = createScope({ functions, variables: VARIABLES });
  const { value: expression } = parseExpression({ name: "t", text });
  return evaluateSettled(functions, () => evaluate(expression, scope));
}

describe("functions of providers", () => {
  it.each([
    ['provider::p::upper("a")', '"A"', ['upper("a")']],
    ['"${provider::p::upper("a")}-${provider::p::upper("a")}"', '"A-A"', ['upper("a")']],
    ['provider::p::upper(provider::p::upper("a"))', '"A"', ['upper("a")', 'upper("A")']],
    [
      '[for x in ["a", "b"] : provider::p::upper(x)]',
      '[\n  "A",\n  "B",\n]',
      ['upper("a")', 'upper("b")'],
    ],
    ["provider::p::upper(hidden)", "(sensitive value)", ['upper("s")']],
    ["provider::p::upper(5)", '"5"', ['upper("5")']],
    ["provider::p::upper(later)", "(known after apply)", []],
    ["provider::p::first(parts)", "tolist([\n  (known after apply),\n])", undefined],
    ['try(provider::p::upper("fail"), "else")', '"else"', ['upper("fail")']],
    ['can(provider::p::upper("x"))', "true", ['upper("x")']],
  ])("%s", async (text, expected, called) => {
    const calls: string[] = [];
    const { value, diagnostics } = await run(text, calls);
    expect(diagnostics.filter(({ severity }) => severity === "error")).toEqual([]);
    expect(valueText(value)).toBe(expected);
    if (called !== undefined) expect(calls).toEqual(called);
  });

  it.each([
    ['provider::p::upper("fail")', 'Invalid value for the parameter "text": It failed.'],
    [
      "provider::p::upper(null)",
      'Invalid value for the parameter "text": argument must not be null.',
    ],
    [
      "provider::p::uper(1)",
      'There is no function named "provider::p::uper". Did you mean "provider::p::upper"?',
    ],
    [
      "provider::q::upper(1)",
      'There are no functions in "provider::q::". Functions of a provider can be called',
    ],
    ["provider::p::upper()", "is missing"],
  ])("%s: %s", async (text, detail) => {
    const { diagnostics } = await run(text);
    expect(diagnostics[0]?.detail).toContain(detail);
  });

  it("warns of deprecated functions", async () => {
    const { diagnostics } = await run("provider::p::first(1)");
    expect(diagnostics).toMatchObject([
      { severity: "warning", code: "LANG_EVAL_DEPRECATED", detail: "Use element." },
    ]);
  });

  it("passes on that a provider cannot answer, and asks again", async () => {
    const calls: string[] = [];
    const functions = withProviderFunctions(consoleScope().functions, source(calls));
    const scope = createScope({ functions });
    const { value } = parseExpression({ name: "t", text: 'provider::p::upper("throw")' });
    const attempt = (): Promise<Evaluated> =>
      evaluateSettled(functions, () => evaluate(value, scope));
    await expect(attempt()).rejects.toThrow("gone");
    await expect(attempt()).rejects.toThrow("gone");
    expect(calls).toHaveLength(2);
  });

  it("shares calls between evaluations at the same time", async () => {
    const calls: string[] = [];
    const fast = source(calls);
    const slow: ProviderFunctionResolver = {
      ...fast,
      call: async (request) => {
        await new Promise((resolve) => setImmediate(resolve));
        return fast.call(request);
      },
    };
    const functions = withProviderFunctions(consoleScope().functions, slow);
    const scope = createScope({ functions });
    const { value } = parseExpression({ name: "t", text: 'provider::p::upper("a")' });
    const results = await Promise.all(
      Array.from({ length: 3 }, () => evaluateSettled(functions, () => evaluate(value, scope))),
    );
    expect(results.map((result) => valueText(result.value))).toEqual(['"A"', '"A"', '"A"']);
    expect(calls).toEqual(['upper("a")']);
  });

  it("does not keep locals that wait for a result", async () => {
    const { config } = loadModule(
      new Map([["main.tf", 'locals {\n  a = provider::p::upper("x")\n  b = "${local.a}!"\n}']]),
    );
    const functions = withProviderFunctions(consoleScope().functions, source());
    const scope = createModuleScope(
      config,
      {
        variables: new Map(),
        resource: () => undefined,
        module: () => undefined,
        folder: ".",
        workspace: "default",
      },
      functions,
    );
    const local = await evaluateSettled(functions, () => scope.local("b"));
    expect(valueText(local.value)).toBe('"X!"');
  });
});

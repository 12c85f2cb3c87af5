import { Mark, Type, Value } from "@stackwright/cty";
import { describe, expect, it } from "vitest";
import { consoleScope } from "../console/console.ts";
import { valueText } from "../console/value-text.ts";
import { explainTrait } from "../eval/explain.ts";
import { parseExpression } from "../syntax/parse.ts";
import { checkValidations, evaluateInput } from "./input-value.ts";
import { loadModule } from "./load-module.ts";
import type { ModuleConfig } from "./module-config.ts";
import { createModuleScope, type ModuleScope, type ModuleValues } from "./module-scope.ts";
import { evaluateOutput } from "./output-value.ts";

const LATER = Value.unknown(Type.string);

function moduleOf(
  text: string,
  variables: Record<string, Value> = {},
  more: Partial<ModuleValues> = {},
): { config: ModuleConfig; scope: ModuleScope } {
  const { config } = loadModule(new Map([["main.tf", text]]));
  const values: ModuleValues = {
    variables: new Map(Object.entries(variables)),
    resource: () => Value.object({ id: LATER, name: Value.string("n") }),
    module: () => undefined,
    folder: ".",
    workspace: "default",
    ...more,
  };
  return { config, scope: createModuleScope(config, values, consoleScope().functions) };
}

const CALLER = moduleOf("", {
  later: LATER,
  secret: Value.string("s").mark(Mark.sensitive),
  passing: Value.string("e").mark(Mark.ephemeral),
}).scope;

function input(declaration: string, argument: string | undefined): string {
  const { config } = moduleOf(`variable "v" {\n${declaration}\n}`);
  const variable = config.variables.get("v");
  if (variable === undefined) throw new Error("no variable");
  const expression =
    argument === undefined ? undefined : parseExpression({ name: "t", text: argument }).value;
  const { value, diagnostics } = evaluateInput(variable, expression, CALLER);
  const marks = value.marks.toString();
  const text = valueText(value.unmark()[0]);
  return diagnostics[0]?.summary ?? (marks === "" ? text : `${marks}: ${text}`);
}

describe("evaluateInput", () => {
  it.each([
    ["type = number", '"5"', "5"],
    ["type = number", '"x"', "Invalid value for input variable"],
    ["default = 1", undefined, "1"],
    ["default = 1", "null", "null"],
    ["default = 1\nnullable = false", "null", "1"],
    ["nullable = false", "null", "Required variable not set"],
    ["sensitive = true", "1", "sensitive: 1"],
    ["", "var.secret", 'sensitive: "s"'],
    ["", "var.passing", "Ephemeral value not allowed"],
    ["ephemeral = true", "var.passing", 'ephemeral: "e"'],
    ["ephemeral = true", "1", "ephemeral: 1"],
    ["type = object({ a = optional(number, 7) })", "{}", '{\n  "a" = 7\n}'],
    ["", "var.nope", "Reference to undeclared name"],
  ])("%j given %j", (declaration, argument, expected) => {
    expect(input(declaration, argument)).toBe(expected);
  });

  it("knows that what is not nullable is not null", () => {
    const { config } = moduleOf('variable "v" {\n  type = string\n  nullable = false\n}');
    const variable = config.variables.get("v");
    if (variable === undefined) throw new Error("no variable");
    const argument = parseExpression({ name: "t", text: "var.later" }).value;
    const { value } = evaluateInput(variable, argument, CALLER);
    expect([value.isKnown, value.rawEquals(LATER)]).toEqual([false, false]);
  });

  it("checks validations in the module", () => {
    const text =
      'variable "v" {\n  validation {\n    condition = var.v > local.least\n    error_message = "at least ${local.least}"\n  }\n}\nlocals {\n  least = 3\n}';
    const check = (value: Value): (string | undefined)[] => {
      const { config, scope } = moduleOf(text, { v: value });
      return [...config.variables.values()].flatMap((variable) =>
        checkValidations(variable, scope).map(({ detail }) => detail),
      );
    };
    expect(check(Value.number(4))).toEqual([]);
    expect(check(Value.number(2))).toEqual(["at least 3"]);
    expect(check(Value.unknown(Type.number))).toEqual([]);
  });
});

describe("evaluateOutput", () => {
  const variables = {
    secret: Value.string("s").mark(Mark.sensitive),
    passing: Value.string("e").mark(Mark.ephemeral),
  };
  const run = (text: string, root: boolean): string => {
    const { config, scope } = moduleOf(
      `output "o" {\n${text}\n}\nlocals { l = { x = var.secret } }`,
      variables,
    );
    const output = config.outputs.get("o");
    if (output === undefined) throw new Error("no output");
    const { value, diagnostics } = evaluateOutput(output, scope, { root });
    return diagnostics[0]?.detail ?? `${value.marks.toString()}: ${value.isKnown}`;
  };

  it.each([
    ["value = 1", true, ": true"],
    ["value = var.secret\nsensitive = true", true, "sensitive: true"],
    ["value = var.secret", false, "sensitive: true"],
    ["value = 1\nsensitive = true", true, "sensitive: true"],
    ["value = 1\nephemeral = true", false, "ephemeral: true"],
    [
      "value = { a = local.l }",
      true,
      'The value of the output "o" is sensitive, so that the output must be declared with sensitive = true. It comes from local.l (main.tf line 2), from var.secret (main.tf line 4), which is sensitive.',
    ],
    [
      "value = var.passing",
      false,
      'The output "o" is not declared with ephemeral = true, so that its value cannot be ephemeral. It comes from var.passing (main.tf line 2), which is ephemeral.',
    ],
    [
      'value = 1\nprecondition {\n  condition = false\n  error_message = "not now"\n}',
      true,
      "not now",
    ],
    [
      "value = terraform.applying",
      true,
      'The output "o" is not declared with ephemeral = true, so that its value cannot be ephemeral. It comes from terraform.applying (main.tf line 2), which is ephemeral.',
    ],
  ])("%j, root %s", (text, root, expected) => {
    expect(run(text, root)).toBe(expected);
  });
});

describe("explainTrait", () => {
  it("follows locals, variables and outputs to where a value comes from", () => {
    const outer = moduleOf("locals {\n  ids = [res.a.name, res.a.id]\n}");
    const child = moduleOf(
      'variable "v" {}\nlocals {\n  l = upper(var.v)\n}',
      { v: LATER },
      {
        definition: ({ kind }) =>
          kind === "variable"
            ? {
                expression: parseExpression({ name: "call.tf", text: "local.ids[1]" }).value,
                scope: outer.scope,
              }
            : undefined,
      },
    );
    const { value } = parseExpression({ name: "t", text: '"${path.module}-${local.l}"' });
    expect(explainTrait(value, child.scope, "unknown").map(({ reference }) => reference)).toEqual([
      "local.l",
      "var.v",
      "local.ids[1]",
      "res.a.id",
    ]);
    expect(explainTrait(value, child.scope, "sensitive")).toEqual([]);
  });
});

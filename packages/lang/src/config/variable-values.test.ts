import { encodeJson, Mark, unmarkDeep, Value } from "@stackwright/cty";
import { describe, expect, it } from "vitest";
import { consoleScope } from "../console/console.ts";
import { createScope } from "../eval/scope.ts";
import { checkCondition } from "./condition.ts";
import { loadModule } from "./load-module.ts";
import { selectVariableFiles } from "./module-files.ts";
import { resolveVariables, type VariableValueOrigin } from "./variable-values.ts";

const CONFIG = `
variable "name" { type = string }
variable "size" {
  type    = number
  default = 1
}
variable "rules" {
  type    = list(object({ action = string, weight = optional(number, 10) }))
  default = []
}
variable "open" { default = "x" }
variable "any" {
  type    = any
  default = null
}
variable "strict" {
  type     = string
  default  = "d"
  nullable = false
}
variable "secret" {
  type      = string
  default   = "s"
  sensitive = true
  validation {
    condition     = length(var.secret) > 2
    error_message = "too short: \${var.secret}"
  }
}
`;

const { variables } = loadModule(new Map([["main.tf", CONFIG]])).config;
const name: VariableValueOrigin = { kind: "argument", name: "name", text: "n" };

function resolved(...sources: VariableValueOrigin[]): Record<string, unknown> {
  const { values, diagnostics } = resolveVariables(variables, [name, ...sources]);
  expect(diagnostics).toEqual([]);
  return Object.fromEntries(
    [...values].map(([key, value]) => [key, JSON.parse(encodeJson(unmarkDeep(value)[0]))]),
  );
}

function summaries(...sources: VariableValueOrigin[]): string[] {
  return resolveVariables(variables, sources).diagnostics.map(({ summary }) => summary);
}

describe("values of variables", () => {
  it("report which ones are missing: neither given nor declared with a default", () => {
    expect(resolveVariables(variables, []).missing).toEqual(["name"]);
    expect(resolveVariables(variables, [name]).missing).toEqual([]);
  });

  it("are defaults where nothing is given", () => {
    expect(resolved()).toEqual({
      name: "n",
      size: 1,
      rules: [],
      open: "x",
      any: null,
      strict: "d",
      secret: "s",
    });
  });

  it("come from the last source that has one", () => {
    const values = resolved(
      { kind: "environment", values: { size: "2", open: "env", other: "ignored" } },
      { kind: "file", name: "terraform.tfvars", text: 'size = 3\nrules = [{ action = "allow" }]' },
      {
        kind: "file",
        name: "z.auto.tfvars.json",
        text: '{ "size": 4, "open": "${not a template}" }',
      },
      { kind: "argument", name: "size", text: "5" },
    );
    expect(values).toMatchObject({
      size: 5,
      open: "${not a template}",
      rules: [{ action: "allow", weight: 10 }],
    });
  });

  it("take text as it is for simple types and as an expression for others", () => {
    const values = resolved(
      { kind: "argument", name: "name", text: "[1, 2]" },
      { kind: "argument", name: "open", text: "{}" },
      { kind: "argument", name: "any", text: "{ a = [true] }" },
      { kind: "environment", values: { rules: '[{ action = "deny", weight = "7" }]' } },
    );
    expect(values).toMatchObject({
      name: "[1, 2]",
      open: "{}",
      any: { a: [true] },
      rules: [{ action: "deny", weight: 7 }],
    });
  });

  it("fall back to the default for null where null is not allowed", () => {
    expect(
      resolved({ kind: "file", name: "a.tfvars", text: "strict = null\nany = null" }),
    ).toMatchObject({ strict: "d", any: null });
  });

  it("carry the marks that are declared", () => {
    const { values } = resolveVariables(variables, [name]);
    expect(values.get("secret")?.hasMark(Mark.sensitive)).toBe(true);
  });

  it("are reported where they are wrong", () => {
    expect(summaries()).toEqual(["No value for required variable"]);
    expect(summaries(name, { kind: "argument", name: "siz", text: "1" })).toEqual([
      "Value for undeclared variable",
    ]);
    expect(summaries(name, { kind: "argument", name: "size", text: "many" })).toEqual([
      "Invalid value for input variable",
    ]);
    expect(summaries(name, { kind: "argument", name: "rules", text: "[var.x]" })).toEqual([
      "Reference to undeclared name",
    ]);
    const file = { kind: "file", name: "a.tfvars", text: "nope = 1\nsize = []\n" } as const;
    const { diagnostics } = resolveVariables(variables, [name, file]);
    expect(diagnostics.map(({ severity, summary }) => [severity, summary])).toEqual([
      ["warning", "Value for undeclared variable"],
      ["error", "Invalid value for input variable"],
    ]);
  });
});

describe("conditions", () => {
  const [validation] = variables.get("secret")?.validations ?? [];
  const check = (value: Value) => {
    if (validation === undefined) throw new Error("expected a validation");
    const scope = createScope({
      functions: consoleScope().functions,
      variables: { var: Value.object({ secret: value }) },
    });
    return checkCondition(validation, scope, "Invalid value for variable");
  };

  it("pass, fail, or wait for what is not known yet", () => {
    expect(check(Value.string("long")).status).toBe("pass");
    expect(check(Value.string("s"))).toMatchObject({ status: "fail", message: "too short: s" });
    expect(check(Value.dynamic).status).toBe("unknown");
  });

  it("do not show what is sensitive", () => {
    const { message, diagnostics } = check(Value.string("s").mark(Mark.sensitive));
    expect(message).not.toContain("too short: s");
    expect(diagnostics.map(({ summary }) => summary)).toEqual(["Invalid value for variable"]);
  });
});

describe("selectVariableFiles", () => {
  it("gives the files that are read without being named, in order", () => {
    const names = [
      "b.auto.tfvars",
      "x.tfvars",
      "terraform.tfvars.json",
      "a.auto.tfvars.json",
      "terraform.tfvars",
      ".c.auto.tfvars",
    ];
    expect(selectVariableFiles(names)).toEqual([
      "terraform.tfvars",
      "terraform.tfvars.json",
      "a.auto.tfvars.json",
      "b.auto.tfvars",
    ]);
  });
});

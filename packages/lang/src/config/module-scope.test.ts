import { Type, Value } from "@stackwright/cty";
import { describe, expect, it } from "vitest";
import { consoleScope } from "../console/console.ts";
import { valueText } from "../console/value-text.ts";
import { evaluate } from "../eval/evaluate.ts";
import { parseExpression } from "../syntax/parse.ts";
import { loadModule } from "./load-module.ts";
import { createModuleScope, type ModuleScope, type ModuleValues } from "./module-scope.ts";
import type { ReferenceSubject } from "./reference.ts";

const CONFIG = `
variable "v" {}
locals {
  a = local.b + 1
  b = var.v
  x = local.y
  y = local.x
  r = res.many["k3"].id
}
resource "res" "one" {}
resource "res" "many" { for_each = {} }
module "m" { source = "./m" }
module "n" {
  source = "./n"
  count  = 2
}
`;

const { config } = loadModule(new Map([["main.tf", CONFIG]]));

function scopeWith(asked: string[] = []): ModuleScope {
  const instance = (id: string): Value => Value.object({ id: Value.string(id) });
  const values: ModuleValues = {
    variables: new Map([["v", Value.number(1)]]),
    folder: "modules/x",
    workspace: "default",
    resource: ({ name, key }: Extract<ReferenceSubject, { kind: "resource" }>) => {
      asked.push(`${name}[${key ?? ""}]`);
      if (key !== undefined) return instance(String(key));
      return name === "one"
        ? instance("one")
        : Value.object({ a: instance("a"), b: instance("b") });
    },
    module: ({ name, key }) => {
      const outputs = Value.object({ out: Value.string(`${name}${key ?? ""}`) });
      return name === "n" && key === undefined ? Value.tuple([outputs, outputs]) : outputs;
    },
  };
  return createModuleScope(config, values, consoleScope().functions);
}

function run(text: string, scope: ModuleScope = scopeWith()): string {
  const { value, diagnostics } = evaluate(parseExpression({ name: "t", text }).value, scope);
  return diagnostics.length > 0 ? `error: ${diagnostics[0]?.detail}` : valueText(value);
}

describe("createModuleScope", () => {
  it.each([
    ["var.v", "1"],
    ["local.a", "2"],
    ["res.one.id", '"one"'],
    ['res.many["k"].id', '"k"'],
    ["keys(res.many)", '[\n  "a",\n  "b",\n]'],
    ["values(res.many)[*].id", '[\n  "a",\n  "b",\n]'],
    ["module.m.out", '"m"'],
    ["module.n[1].out", '"n1"'],
    ["module.n[var.v].out", '"n1"'],
    ["length(module.n)", "2"],
    ["path.module", '"modules/x"'],
    ["path.root", '"."'],
    ["terraform.workspace", '"default"'],
  ])("%s", (text, expected) => {
    expect(run(text)).toBe(expected);
  });

  it.each([
    ["var", 'error: "var" must be followed by a dot and a name.'],
    ["var.q", "error: There is no var.q here."],
    ["each.key", "error: There is no each.key here."],
    ["module.m.q", "error: There is no module.m.q here."],
    ["foo", "error: A reference to a resource must name its type and its name: TYPE.NAME."],
  ])("%s", (text, expected) => {
    expect(run(text)).toBe(expected);
  });

  it("gives the names of an instance", () => {
    const scope = scopeWith();
    const each = { key: Value.string("k"), value: Value.number(7) };
    expect(run('"${each.key}=${each.value}"', scope.forInstance({ each }))).toBe('"k=7"');
    expect(run("count.index", scope.forInstance({ countIndex: 3 }))).toBe("3");
    expect(run("self.x", scope.forInstance({ self: Value.object({ x: Value.true }) }))).toBe(
      "true",
    );
  });

  it("asks for one instance where one is meant", () => {
    const asked: string[] = [];
    const each = { key: Value.string("k7"), value: Value.null(Type.dynamic) };
    run("res.many[each.key].id", scopeWith(asked).forInstance({ each }));
    run('res.many["k8"].id', scopeWith(asked));
    expect(asked).toEqual(["many[k7]", "many[k8]"]);
  });

  it("evaluates a local once", () => {
    const asked: string[] = [];
    const scope = scopeWith(asked);
    run("[local.r, local.r]", scope);
    run("local.r", scope.forInstance({ countIndex: 1 }));
    expect(asked).toEqual(["many[k3]"]);
  });

  it("does not follow locals in a circle", () => {
    const scope = scopeWith();
    expect(run("local.x", scope)).toBe("(known after apply)");
    expect(scope.local("x").value.isKnown).toBe(false);
  });

  it("refers to ten thousand instances from ten thousand others in linear time", () => {
    const asked: string[] = [];
    const scope = scopeWith(asked);
    const { value: expression } = parseExpression({
      name: "t",
      text: '"${res.many[each.key].id}-x"',
    });
    for (let index = 0; index < 10_000; index++) {
      const each = { key: Value.string(`k${index}`), value: Value.true };
      evaluate(expression, scope.forInstance({ each }));
    }
    expect(asked.length).toBe(10_000);
  });
});

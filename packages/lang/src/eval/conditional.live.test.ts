import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Type, Value } from "@stackwright/cty";
import { expect, it, onTestFinished } from "vitest";
import { consoleScope } from "../console/console.ts";
import { typeText } from "../console/type-text.ts";
import { parseExpression } from "../syntax/parse.ts";
import { requireTerraform } from "../testing/terraform-command.ts";
import { evaluate } from "./evaluate.ts";
import { createScope } from "./scope.ts";

/* The type of a conditional whose arms have different types, beside what the reference command says of it. */

/** `local.c` is an unknown condition, `local.d` something of which not even the type is known. */
const CONFIGURATION = `resource "terraform_data" "x" {}
locals {
  c = terraform_data.x.id == "x"
  d = terraform_data.x.output
}
`;
const LOCAL = Value.object({ c: Value.unknown(Type.bool), d: Value.dynamic });

/** The two arms; the condition is unknown. */
const ARMS = [
  // Tuples of different lengths.
  ["[1]", "[1, 2]"],
  ["[1]", '["a", 2]'],
  ["[1]", "[true, false]"],
  ["[]", "[1]"],
  ["[]", "[{}]"],
  ["[]", "[null]"],
  ["[null]", "[null, 1]"],
  ["[null, [1]]", "[]"],
  ["[local.d]", "[1, 2]"],
  ["[local.d]", "[]"],
  ["[local.d, 1]", "[local.d]"],
  ["[[1], local.d]", "[]"],
  ["[local.d]", "[[1], [2]]"],
  ["[local.d]", "[[1], 2]"],
  ["[[1]]", "[[1, 2]]"],
  ["[[1]]", "[[1, 2], []]"],
  ["[[local.d]]", '[["a"], ["b"]]'],
  ["[{ a = 1 }]", "[{ a = 1 }, { b = 2 }]"],
  ["[{ a = 1 }]", "[{ a = [] }, { a = 2 }]"],
  ["[{ a = timestamp() }]", "[{ a = 1 }, { a = true }]"],
  ["[timestamp()]", "[1, 2]"],
  // Tuples with lists and sets.
  ["[1]", "tolist([2, 3])"],
  ['["a"]', "tolist([2, 3])"],
  ["[true]", "tolist([1])"],
  ["[local.d]", "tolist([2, 3])"],
  ["[]", "toset([1])"],
  ["[local.d]", 'toset(["a"])'],
  ["toset([local.d])", "[2]"],
  ["toset([1])", 'tolist(["a"])'],
  // Objects with objects and maps.
  ["{ a = 1 }", "{ b = 2 }"],
  ["{ a = 1 }", '{ b = "x", c = true }'],
  ["{ a = 1 }", "{ b = [1] }"],
  ["{ a = 1 }", "{}"],
  ["{ a = local.d }", "{ b = [1] }"],
  ["{ a = local.d }", "{ b = [1], c = 1 }"],
  ["{ a = [1] }", "{ a = [1, 2] }"],
  ["{ a = [], b = [1] }", '{ c = ["x"] }'],
  ["{ a = null, c = 1 }", "{ b = [1] }"],
  ["{ a = { x = 1 } }", "tomap({ b = { y = 2 } })"],
  ["{ a = local.d }", "tomap({ b = 2 })"],
  ["{ a = true }", "tomap({ a = 1 })"],
  ["{}", "tomap({ b = { y = 2 } })"],
  // What has no common type.
  ["[1]", "{ a = 1 }"],
  ["[]", "{}"],
  ["[1]", '"a"'],
  ["tolist([1])", "tomap({ a = 1 })"],
  ["1", "true"],
] as const;

const withoutSpace = (text: string): string => text.replaceAll(/[\s,]/g, "");

it("has the type that the reference command gives a conditional, or none where it has none", {
  timeout: 120_000,
}, (context) => {
  const terraform = requireTerraform(context);
  const folder = mkdtempSync(join(tmpdir(), "conditional-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  writeFileSync(join(folder, "main.tf"), CONFIGURATION);
  writeFileSync(join(folder, "cli.tfrc"), "");
  const environment = { ...process.env, TF_CLI_CONFIG_FILE: join(folder, "cli.tfrc") };
  const call = (arguments_: readonly string[], input = "") =>
    spawnSync(terraform, arguments_, { cwd: folder, env: environment, input, encoding: "utf8" });
  expect(call(["init", "-no-color"]).status).toBe(0);

  const { functions } = consoleScope();
  const scope = createScope({ functions, variables: { local: LOCAL } });
  const ours: Record<string, string> = {};
  const theirs: Record<string, string> = {};
  for (const [whenTrue, whenFalse] of ARMS) {
    const text = `local.c ? ${whenTrue} : ${whenFalse}`;
    const { value, diagnostics } = evaluate(parseExpression({ name: "t", text }).value, scope);
    ours[text] = diagnostics[0]?.code ?? withoutSpace(typeText(value.type));
    // The console ends at the first error, so each expression has one of its own.
    const { status, stdout, stderr } = call(["console", "-no-color"], `type(${text})\n`);
    const isAboutTypes = status !== 0 && stderr.includes("Inconsistent conditional result types");
    theirs[text] = isAboutTypes ? "LANG_EVAL_CONDITIONAL_TYPES" : withoutSpace(stdout) || stderr;
  }
  expect(ours).toEqual(theirs);
});

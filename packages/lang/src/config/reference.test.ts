import { describe, expect, it } from "vitest";
import { parseTraversal } from "../syntax/parse.ts";
import { checkReferences, referenceOwners } from "./check-references.ts";
import { loadModule } from "./load-module.ts";
import { parseReference } from "./reference.ts";

function subject(text: string): unknown {
  const { value } = parseTraversal({ name: "t", text });
  if (value === undefined) throw new Error("expected a traversal");
  const reference = parseReference(value);
  return reference === undefined ? undefined : [reference.subject, reference.steps.length];
}

describe("parseReference", () => {
  it.each([
    ["var.x.y", [{ kind: "variable", name: "x" }, 1]],
    ["local.x", [{ kind: "local", name: "x" }, 0]],
    ["a.b", [{ kind: "resource", mode: "managed", type: "a", name: "b", key: undefined }, 0]],
    ['a.b["k"].id', [{ kind: "resource", mode: "managed", type: "a", name: "b", key: "k" }, 1]],
    ["data.a.b[0].id", [{ kind: "resource", mode: "data", type: "a", name: "b", key: 0 }, 1]],
    [
      "resource.data.b",
      [{ kind: "resource", mode: "managed", type: "data", name: "b", key: undefined }, 0],
    ],
    [
      "ephemeral.a.b.c",
      [{ kind: "resource", mode: "ephemeral", type: "a", name: "b", key: undefined }, 1],
    ],
    ["module.a.b.c", [{ kind: "module", name: "a", key: undefined, output: "b" }, 1]],
    ["module.a[1].b", [{ kind: "module", name: "a", key: 1, output: "b" }, 0]],
    ["each.value.x", [{ kind: "each", name: "value" }, 1]],
    ["count.index", [{ kind: "count" }, 0]],
    ["self.id", [{ kind: "self" }, 1]],
    ["path.module", [{ kind: "path", name: "module" }, 0]],
    ["terraform.workspace", [{ kind: "terraform", name: "workspace" }, 0]],
  ])("%s", (text, expected) => {
    expect(subject(text)).toEqual(expected);
  });

  it.each([
    "var",
    "a",
    "data.a",
    "module",
    "each",
    "each.x",
    "count",
    "path.x",
    "terraform.x",
    "template.a",
    'var["x"]',
  ])("%s is no reference", (text) => {
    expect(subject(text)).toBeUndefined();
  });
});

function problems(text: string, name = "main.tf"): string[] {
  const { config, diagnostics } = loadModule(new Map([[name, text]]));
  expect(diagnostics).toEqual([]);
  return checkReferences(config).map(({ summary, detail }) => `${summary}: ${detail}`);
}

describe("checkReferences", () => {
  it("finds nothing wrong where everything is declared", () => {
    const text = `
variable "v" {}
locals { l = [for x in var.v : x.name] }
data "d" "x" { count = 2 }
resource "r" "x" {
  for_each = local.l
  name     = each.key
  image    = data.d.x[count_is_no_root ? 0 : 1]
  dynamic "disk" {
    for_each = each.value.disks
    content {
      size = disk.value.size
      dynamic "part" {
        for_each = disk.value.parts
        iterator = p
        content { size = p.value + length(disk.key) }
      }
    }
  }
  lifecycle {
    postcondition {
      condition     = self.id != ""
      error_message = "no id for \${each.key}"
    }
  }
}
module "m" {
  source = "./m"
  count  = 2
  input  = r.x["a"].id
  number = count.index
}
output "o" { value = module.m[*].out }
`.replace("count_is_no_root", "var.v");
    expect(problems(text)).toEqual([]);
  });

  it.each([
    [
      'variable "size" {}\noutput "o" { value = var.sise }',
      'Reference to undeclared input variable: There is no input variable "sise" in this module. Did you mean "size"?',
    ],
    [
      "locals {\n  a = local.b\n}",
      'Reference to undeclared local value: There is no local value "b" in this module. Did you mean "a"?',
    ],
    [
      'data "d" "x" {}\noutput "o" { value = d.x.id }',
      "Reference to undeclared resource: There is no resource d.x in this module. Did you mean the data source data.d.x?",
    ],
    [
      'output "o" { value = module.m.x }',
      'Reference to undeclared module: There is no module "m" in this module.',
    ],
    [
      'output "o" { value = each.key }',
      'Reference to "each" in context without for_each: "each" has a meaning only where for_each is set.',
    ],
    [
      'resource "r" "x" { count = count.index }',
      'Reference to "count" in non-counted context: "count" has a meaning only where count is set.',
    ],
    [
      'resource "r" "x" { name = self.id }',
      'Invalid "self" reference: "self" has a meaning only in postconditions, provisioners and connections.',
    ],
    [
      'resource "r" "x" {\n  block {\n    a = { (var.q) = 1 }\n  }\n}',
      'Reference to undeclared input variable: There is no input variable "q" in this module.',
    ],
    [
      'output "o" { value = foo }',
      "Invalid reference: A reference to a resource must name its type and its name: TYPE.NAME.",
    ],
  ])("%j", (text, expected) => {
    expect(problems(text)).toEqual([expected]);
  });

  it("reads bodies of JSON files", () => {
    const text = JSON.stringify({
      resource: {
        r: {
          x: {
            "//": "${var.comment}",
            name: "a ${var.q}",
            dynamic: { disk: { for_each: "${var.disks}", content: { size: "${disk.value}" } } },
          },
        },
      },
    });
    expect(problems(text, "main.tf.json").map((problem) => /"(\w+)"/.exec(problem)?.[1])).toEqual([
      "q",
      "disks",
    ]);
  });

  it("knows the data source of a check in that check only", () => {
    const check =
      'check "c" {\n  data "d" "x" {}\n  assert {\n    condition = data.d.x.ok\n    error_message = "no"\n  }\n}\n';
    expect(problems(check)).toEqual([]);
    expect(problems(`${check}output "o" { value = data.d.x.ok }`).length).toBe(1);
  });

  it("returns what refers to what", () => {
    const { config } = loadModule(new Map([["m.tf", "locals {\n  a = 1\n  b = local.a\n}"]]));
    expect(
      referenceOwners(config).map(({ address, references }) => [address, references.length]),
    ).toEqual([["local.b", 1]]);
  });
});

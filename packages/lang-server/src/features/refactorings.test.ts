import { describe, expect, it } from "vitest";
import { offeredActions as actions } from "../testing/offered-actions.ts";

describe("extract", () => {
  it("gives a selected expression a name before the block that it is in, above its comments", async () => {
    const main = '# About a.\nresource "lab_object" "a" {\n  name = « "x-${var.p}" »\n}\n';
    expect(await actions({ "main.tf": main }, "refactor.extract")).toEqual({
      "Extract to local.name": {
        "main.tf":
          'locals {\n  name = "x-${var.p}"\n}\n\n# About a.\nresource "lab_object" "a" {\n  name =  local.name \n}\n',
      },
    });
  });

  it("adds it to locals that are there, under a name that is free", async () => {
    const main =
      'locals {\n  size = 1\n}\n\nlocals {\n  other = 2\n}\n\noutput "o" {\n  value = [for k in [1] : k + «local.size * 2»]\n}\noutput "size" {\n  value = 0\n}\n';
    const found = await actions({ "main.tf": main }, "refactor.extract");
    expect(found["Extract to local.value"]?.["main.tf"]).toBe(
      'locals {\n  size = 1\n  value = local.size * 2\n}\n\nlocals {\n  other = 2\n}\n\noutput "o" {\n  value = [for k in [1] : k + local.value]\n}\noutput "size" {\n  value = 0\n}\n',
    );
    const taken = main.replace("size = 1", "size = 1\n  value = 3").replace("local.size * 2", "4");
    const again = await actions({ "main.tf": taken }, "refactor.extract");
    expect(Object.keys(again)).toEqual(["Extract to local.value_2", "Extract to var.value"]);
  });

  it("makes a constant a variable with it as the default, beside the others", async () => {
    const texts = {
      "main.tf": 'resource "lab_object" "a" {\n  tags = { a = «"x"» }\n}\n',
      "variables.tf": 'variable "tags" {}\n',
    };
    expect((await actions(texts, "refactor.extract"))["Extract to var.tags_2"]).toEqual({
      "main.tf": 'resource "lab_object" "a" {\n  tags = { a = var.tags_2 }\n}\n',
      "variables.tf":
        'variable "tags" {}\n\nvariable "tags_2" {\n  type    = string\n  default = "x"\n}\n',
    });
    const list = 'resource "lab_object" "a" {\n  tags = «[1, { b = true }]»\n}\n';
    const found = await actions({ "main.tf": list }, "refactor.extract");
    expect(found["Extract to var.tags"]?.["main.tf"]).toBe(
      'resource "lab_object" "a" {\n  tags = var.tags\n}\n\nvariable "tags" {\n  default = [1, { b = true }]\n}\n',
    );
  });

  it.for([
    ["a part of an expression", "value = 1 + «2 *» 3"],
    ["nothing", "value = «»1"],
    ["text of a template", 'value = "«a-»${var.p}"'],
    ["a key", "value = { «a» = 1 }"],
    ["the element of a loop", "value = [for k in [1] : «k + 1»]"],
    ["the element of a loop further out", "value = [for k in [1] : [for l in [2] : «k»]]"],
    ["what differs between instances", "value = «each.key»"],
    ["the own object", 'value = "${«self.id»}"'],
    ["a step of a reference", "value = var.«a»"],
    ["what a splat reads", "value = var.list[*].«a»"],
    ["a text of several lines", "value = «<<EOT\na\nEOT\n»"],
    ["what is not understood", "value = «1 +»"],
    ["a switch of the life cycle", "lifecycle {\n    prevent_destroy = «true»\n  }"],
    ["a keyword", 'provisioner "local-exec" {\n    when = «destroy»\n  }'],
    ["dependencies", "depends_on = «[lab_object.b]»"],
    [
      "the iterator of a dynamic block",
      'dynamic "tag" {\n    for_each = [1]\n    content {\n      value = «tag.value»\n    }\n  }',
    ],
    [
      "an iterator with a name of its own",
      'dynamic "tag" {\n    for_each = [1]\n    iterator = one\n    content {\n      value = «one.value»\n    }\n  }',
    ],
  ] as const)("is not offered for %s", async ([, line]) => {
    const main = `resource "lab_object" "a" {\n  ${line}\n}\n`;
    expect(await actions({ "main.tf": main }, "refactor.extract")).toEqual({});
  });

  it("is offered for arguments of objects that have the names of those of modules", async () => {
    const main = 'resource "lab_object" "a" {\n  source = «"./x"»\n}\n';
    expect(Object.keys(await actions({ "main.tf": main }, "refactor.extract"))).toEqual([
      "Extract to local.source",
      "Extract to var.source",
    ]);
  });

  it("is not offered where no expression may refer to what it makes", async () => {
    for (const main of [
      'variable "a" {\n  default = «1»\n}\n',
      'output "a" {\n  value     = 1\n  sensitive = «true»\n}\n',
      'module "a" {\n  source = «"./x"»\n}\n',
    ]) {
      expect(await actions({ "main.tf": main }, "refactor.extract")).toEqual({});
    }
  });
});

describe("inline", () => {
  it("is not offered for a local that is made of itself", async () => {
    const texts = { "main.tf": "locals {\n  «»a = [local.a]\n}\n" };
    expect(await actions(texts, "refactor.inline")).toEqual({});
  });

  it("writes the expression at each use, in parentheses where it needs them, and removes the local", async () => {
    const texts = {
      "main.tf": "locals {\n  a = 1\n  «»b = var.x + 1 # why\n  c = local.b * 2\n}\n",
      "other.tf": 'output "o" {\n  value = ["${local.b}", local.b, max(local.b, 2), !local.b]\n}\n',
    };
    expect((await actions(texts, "refactor.inline"))["Inline local.b"]).toEqual({
      "main.tf": "locals {\n  a = 1\n  c = (var.x + 1) * 2\n}\n",
      "other.tf":
        'output "o" {\n  value = ["${var.x + 1}", var.x + 1, max(var.x + 1, 2), !(var.x + 1)]\n}\n',
    });
  });

  it("keeps what is read of the value, also from a use", async () => {
    const texts = {
      "main.tf":
        'locals {\n  a = { n = var.n }\n  b = var.o\n}\noutput "o" {\n  value = [«local.a».n, local.b.x[0]]\n}\n',
    };
    const found = await actions(texts, "refactor.inline");
    expect(found["Inline local.a"]?.["main.tf"]).toContain(
      "value = [({ n = var.n }).n, local.b.x[0]]",
    );
    const other = {
      "main.tf": texts["main.tf"].replace(/[«»]/g, "").replace("b = var", "«»b = var"),
    };
    expect((await actions(other, "refactor.inline"))["Inline local.b"]?.["main.tf"]).toContain(
      "var.o.x[0]",
    );
  });

  it.for([
    ["a name of it means something else at a use", "value = [for var in [1] : local.a]", {}],
    ["it is of several lines", "value = local.text", {}],
    ["a file in JSON syntax may use it", "value = local.a", { "more.tf.json": "{}" }],
  ] as const)("is not offered where %s", async ([what, line, more]) => {
    const name = what.includes("lines") ? "text" : "a";
    const locals = "locals {\n  a = var.x\n  text = <<EOT\nx\nEOT\n}\n".replace(
      `  ${name} =`,
      `  «»${name} =`,
    );
    const texts = { "main.tf": `${locals}output "o" {\n  ${line}\n}\n`, ...more };
    expect(await actions(texts, "refactor.inline")).toEqual({});
  });
});

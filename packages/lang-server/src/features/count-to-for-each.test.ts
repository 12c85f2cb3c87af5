import { Value } from "@stackwright/cty";
import {
  consoleScope,
  createScope,
  evaluate,
  formatAddress,
  moveAddress,
  parseAddress,
  parseFile,
  valueText,
} from "@stackwright/lang";
import { describe, expect, it } from "vitest";
import { offeredActions } from "../testing/offered-actions.ts";
import { refactoringOf } from "../testing/refactoring-of.ts";

const { functions } = consoleScope();
const NAMES = ["z", "a", "m"].map((name) => Value.string(name));

/** What the argument `value` of the resource is in one instance, as text. */
function valueOf(text: string, root: "count" | "each", step: string, key: Value): string {
  const { body } = parseFile({ name: "main.tf", text });
  for (const item of body.items) {
    if (item.kind !== "block" || item.type !== "resource") continue;
    for (const argument of item.body.items) {
      if (argument.kind !== "attribute" || argument.name !== "value") continue;
      const variables = {
        [root]: Value.object({ [step]: key }),
        local: Value.object({ names: Value.tuple(NAMES) }),
      };
      const { value, diagnostics } = evaluate(
        argument.expression,
        createScope({ functions, variables }),
      );
      expect(diagnostics).toEqual([]);
      return valueText(value);
    }
  }
  throw new Error(text);
}

const rewrites = async (texts: Readonly<Record<string, string>>) =>
  Object.fromEntries(
    Object.entries(await offeredActions(texts, "refactor.rewrite")).filter(([title]) =>
      title.startsWith("Convert count"),
    ),
  );

describe("count to for_each", () => {
  it("names the instances of a constant number, and says where each object went", async () => {
    const main = `# About a.
resource "lab_object" "a" {
  «»count = 2 # two
  name  = "x-\${count.index}"
  size  = count.index + 1
}

output "o" {
  value = lab_object.a[1].name
}
`;
    expect(await rewrites({ "main.tf": main })).toEqual({
      "Convert count of lab_object.a to for_each": {
        "main.tf": `# About a.
resource "lab_object" "a" {
  for_each = toset(["0", "1"]) # two
  name     = "x-\${each.key}"
  size     = tonumber(each.key) + 1
}

moved {
  from = lab_object.a[0]
  to   = lab_object.a["0"]
}

moved {
  from = lab_object.a[1]
  to   = lab_object.a["1"]
}

output "o" {
  value = lab_object.a["1"].name
}
`,
      },
    });
  });

  it("moves every object to its key", async () => {
    for (const [count, keys] of [
      ["2", ["0", "1"]],
      ['length(["web", "db"])', ["web", "db"]],
    ] as const) {
      const main = `«»resource "lab_object" "a" {\n  count = ${count}\n}\nmoved {\n  from = lab_object.z\n  to   = lab_object.a\n}\n`;
      const [after] = Object.values(await rewrites({ "main.tf": main }));
      const { refactoring, problems } = await refactoringOf(after?.["main.tf"] ?? "");
      expect(problems).toEqual([]);
      for (const name of ["lab_object.a", "lab_object.z"]) {
        const moved = keys.map((_, at) => {
          const address = parseAddress(`${name}[${at}]`);
          if (address.value?.kind !== "resource") throw new Error(name);
          return formatAddress(
            refactoring.moves.reduce(
              (each, move) => moveAddress(move, each) ?? each,
              address.value,
            ),
          );
        });
        expect(moved).toEqual(keys.map((key) => `lab_object.a["${key}"]`));
      }
    }
  });

  it("takes the strings of a list as keys where its length is the number", async () => {
    const texts = {
      "main.tf": `locals {
  names = ["web", "db"]
}
«»module "m" {
  source = "./m"
  count  = length(local.names)
  name   = local.names[count.index]
  other  = element(local.names, count.index)
  number = count.index
}
`,
      "out.tf": 'output "o" {\n  value = [module.m[0].id, length(module.m)]\n}\n',
    };
    const found = (await rewrites(texts))["Convert count of module.m to for_each"];
    expect(found?.["main.tf"]).toContain(`  source   = "./m"
  for_each = toset(local.names)
  name     = each.key
  other    = each.key
  number   = index(local.names, each.key)
}

moved {
  from = module.m[0]
  to   = module.m["web"]
}
`);
    expect(found?.["out.tf"]).toBe(
      'output "o" {\n  value = [module.m["web"].id, length(module.m)]\n}\n',
    );
  });

  it("reads all instances in the order that they had", async () => {
    const main = `«»resource "lab_object" "a" {
  count = 2
}
resource "lab_object" "b" {
  count      = 2
  name       = lab_object.a[count.index].id
  ids        = lab_object.a[*].id
  depends_on = [lab_object.a]
}
`;
    const found = await rewrites({ "main.tf": main });
    expect(found["Convert count of lab_object.a to for_each"]?.["main.tf"]).toContain(
      `  name       = lab_object.a[tostring(count.index)].id
  ids        = values(lab_object.a)[*].id
  depends_on = [lab_object.a]
`,
    );
  });

  it("gives data sources no moved blocks", async () => {
    const found = await rewrites({ "main.tf": '«»data "lab_object" "a" {\n  count = 1\n}\n' });
    expect(found["Convert count of data.lab_object.a to for_each"]?.["main.tf"]).toBe(
      'data "lab_object" "a" {\n  for_each = toset(["0"])\n}\n',
    );
  });

  it.for([
    ["the number depends on a variable", "count = var.n", "1"],
    ["there is none", "count = 0", "1"],
    ["strings are twice in the list", 'count = length(["a", "a"])', "1"],
    ["the number is read as a whole", "count = 2\n  name = count", "1"],
    ["an iterator has the name", "count = 2\n  name = [for each in [1] : each]", "1"],
    ["all instances are read as a list", "count = 2", "lab_object.a"],
    ["the order would be another", "count = 11", "lab_object.a[*].id"],
    ["another instance is read", "count = 2", "lab_object.a[2].id"],
    ["a key is not known", 'count = length(["a", "b"])', "lab_object.a[var.n].id"],
  ] as const)("is not offered where %s", async ([, lines, use]) => {
    const main = `«»resource "lab_object" "a" {\n  ${lines}\n}\noutput "o" {\n  value = ${use}\n}\n`;
    expect(await rewrites({ "main.tf": main })).toEqual({});
  });

  it("is not offered where a file that is not rewritten may use the instances", async () => {
    const main = '«»resource "lab_object" "some" {\n  count = 1\n}\n';
    const other = { "o.tf.json": '{"output":{"o":{"value":"${lab_object.some[0].id}"}}}' };
    expect(Object.keys(await rewrites({ "main.tf": main }))).toHaveLength(1);
    expect(await rewrites({ "main.tf": main, ...other })).toEqual({});
  });

  it("is not offered where a number names an instance, and no call may stand", async () => {
    const main = '«»resource "lab_object" "a" {\n  count = 2\n}\n';
    const use = (name: string): string =>
      `resource "lab_object" "b" {\n  count = 2\n  lifecycle {\n    ${name} = [lab_object.a[count.index]]\n  }\n}\n`;
    expect(await rewrites({ "main.tf": main, "b.tf": use("other") })).not.toEqual({});
    expect(await rewrites({ "main.tf": main, "b.tf": use("replace_triggered_by") })).toEqual({});
  });

  it("is not offered where a name of a loop hides the list", async () => {
    const main = (name: string): string =>
      `locals {\n  names = ["a"]\n}\n«»resource "lab_object" "a" {\n  count = length(local.names)\n  x     = [for ${name} in [{ names = [1] }] : local.names[count.index]]\n}\n`;
    expect(await rewrites({ "main.tf": main("each_one") })).not.toEqual({});
    expect(await rewrites({ "main.tf": main("local") })).toEqual({});
  });

  it("is not offered where objects of single instances were moved before", async () => {
    const main = '«»resource "lab_object" "a" {\n  count = 1\n}\n';
    const moved = "moved {\n  from = lab_object.a[0]\n  to   = lab_object.b\n}\n";
    expect(await rewrites({ "main.tf": main, "moved.tf": moved })).toEqual({});
  });

  it.for(["3", "length(local.names)", 'length(["z", "a", "m"])'])(
    "gives each instance the arguments that it had, of a count of %s",
    async (count) => {
      const list = count.includes("local") ? "local.names" : '["z", "a", "m"]';
      const main = `locals {
  names = ["z", "a", "m"]
}
«»resource "lab_object" "a" {
  count = ${count}
  value = [count.index, "n\${count.index}", "\${count.index}", ${list}[count.index], element(${list}, count.index), { (count.index) = count.index * 2 }]
}
`;
      const after = (await rewrites({ "main.tf": main }))[
        "Convert count of lab_object.a to for_each"
      ]?.["main.tf"];
      const keys = count === "3" ? ["0", "1", "2"] : ["z", "a", "m"];
      keys.forEach((key, at) => {
        const before = valueOf(main.replace("«»", ""), "count", "index", Value.number(at));
        expect(valueOf(after ?? "", "each", "key", Value.string(key))).toBe(before);
        expect(after).toContain(`from = lab_object.a[${at}]\n  to   = lab_object.a["${key}"]`);
      });
    },
  );
});

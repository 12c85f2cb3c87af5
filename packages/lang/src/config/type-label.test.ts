import { describe, expect, it } from "vitest";
import { parseAddress } from "../address/parse-address.ts";
import { buildGraph } from "../graph/build-graph.ts";
import { resolveProviders } from "../graph/resolve-providers.ts";
import type { Diagnostic } from "../syntax/diagnostic.ts";
import { formatFile } from "../syntax/format.ts";
import { parseFile } from "../syntax/parse.ts";
import { memoryBundle } from "../testing/memory-bundle.ts";
import { checkReferences } from "./check-references.ts";
import { exportJson } from "./export-json.ts";
import { loadModule } from "./load-module.ts";
import { loadModuleTree } from "./load-tree.ts";

function load(files: Record<string, string>) {
  const { config, diagnostics } = loadModule(new Map(Object.entries(files)));
  return { config, problems: [...diagnostics, ...checkReferences(config)].map(told) };
}

/** Where and what, and the text that is pointed at. */
function told({ summary, detail, subject }: Diagnostic): string {
  if (subject === undefined) return `${summary}: ${detail}`;
  const { source, start, end } = subject;
  const { filename, start: from } = source.locate(start, end);
  return `${filename}:${from.line} ${source.text.slice(start, end)} ${summary}: ${detail}`;
}

const NATIVE = `resource "lab:index:Box" "a" {
  from = data.lab_get_box.b.id
}
data "lab:index/getBox:getBox" "b" {}
ephemeral "lab:keys:Key" "k" {}
check "c" {
  data "lab:index:getBox" "d" {}
  assert {
    condition     = data.lab_get_box.d.ok
    error_message = lab_box.a.id
  }
}
`;

const JSON_FORM = JSON.stringify({
  resource: { "lab:index:Box": { a: { from: "${data.lab_get_box.b.id}" } } },
  data: { "lab:index/getBox:getBox": { b: {} } },
  ephemeral: { "lab:keys:Key": { k: {} } },
  check: {
    c: {
      data: { "lab:index:getBox": { d: {} } },
      assert: { condition: "${data.lab_get_box.d.ok}", error_message: "${lab_box.a.id}" },
    },
  },
});

describe("a token as the type of a block", () => {
  it.each([
    ["main.tf", NATIVE],
    ["main.tf.json", JSON_FORM],
  ])("declares the resource under the name of the type, in %s", (name, text) => {
    const { config, problems } = load({ [name]: text });
    expect(problems).toEqual([]);
    expect([...config.resources.keys()]).toEqual([
      "lab_box.a",
      "data.lab_get_box.b",
      "ephemeral.lab_keys_key.k",
    ]);
    const found = [...config.resources.values(), config.checks.get("c")?.data];
    expect(found.map((resource) => [resource?.type, resource?.token?.text])).toEqual([
      ["lab_box", "lab:index:Box"],
      ["lab_get_box", "lab:index/getBox:getBox"],
      ["lab_keys_key", "lab:keys:Key"],
      ["lab_get_box", "lab:index:getBox"],
    ]);
    // The range is that of the label, for what a schema has to say about it.
    for (const resource of found) {
      const { source, start, end } = resource?.token?.range ?? expect.unreachable();
      expect(source.text.slice(start, end)).toBe(JSON.stringify(resource?.token?.text));
    }
    expect(
      load({ "main.tf": 'resource "lab_box" "a" {}' }).config.resources.get("lab_box.a"),
    ).toHaveProperty("token", undefined);
  });

  it("is the same declaration as the name", () => {
    const byName = 'resource "lab_box" "a" {}\n';
    const byToken = 'resource "lab:index:Box" "a" {}\n';
    const second = (text: string) => load({ "a.tf": byName, "b.tf": text }).problems;
    expect(second(byToken)).toEqual([
      'b.tf:1 resource "lab:index:Box" "a" Duplicate resource: A resource "lab_box.a" is declared already, at a.tf line 1. Names must be unique in a module. The type "lab:index:Box" is called lab_box.',
    ]);
    expect(load({ "a.tf": byToken, "b.tf": byName }).problems).toEqual([
      'b.tf:1 resource "lab_box" "a" Duplicate resource: A resource "lab_box.a" is declared already, at a.tf line 1. Names must be unique in a module. The type "lab:index:Box" is called lab_box.',
    ]);
    expect(
      load({ "a.tf": byToken, "b.tf": 'resource "lab:index/box:Box" "a" {}' }).problems,
    ).toEqual([
      'b.tf:1 resource "lab:index/box:Box" "a" Duplicate resource: A resource "lab_box.a" is declared already, at a.tf line 1. Names must be unique in a module. The types "lab:index:Box" and "lab:index/box:Box" are both called lab_box.',
    ]);
    expect(second(byName).join()).not.toContain("called");
  });

  it("is overridden by name and by token", () => {
    for (const type of ["lab_box", "lab:index:Box"]) {
      for (const over of ["lab_box", "lab:index:Box"]) {
        const { config, problems } = load({
          "main.tf": `resource "${type}" "a" {}`,
          "main_override.tf": `resource "${over}" "a" {\n  count = 2\n}`,
        });
        expect(problems).toEqual([]);
        expect(config.resources.get("lab_box.a")?.count).toBeDefined();
      }
    }
  });

  it.each(["lab:Box", "lab:index:", ":index:Box", "lab:index:Box:x", "lab::index::box", "lab: :B"])(
    "is not %j, which stays an error",
    (type) => {
      const label = JSON.stringify(type);
      const detail = `Invalid name: "${type}" is not a name: names begin with a letter or underscore and hold letters, digits, underscores and dashes. Neither is it a token, by which a Pulumi provider calls a type: those have three parts, package:module:Name.`;
      expect(load({ "main.tf": `\nresource ${label} "a" {}` }).problems).toEqual([
        `main.tf:2 ${label} ${detail}`,
      ]);
      expect(load({ "x.tf.json": `{"data": {\n${label}: {"a": {}}}}` }).problems).toEqual([
        `x.tf.json:2 ${label} ${detail}`,
      ]);
    },
  );

  it("is nothing anywhere else", () => {
    for (const block of ["variable", "output", "module", "provider", "check"]) {
      const [problem = ""] = load({
        "main.tf": `${block} "lab:index:Box" {\n  value = 1\n  source = "./x"\n}`,
      }).problems.filter((text) => text.includes("Invalid name"));
      expect(problem).toContain("dashes.");
      expect(problem).not.toContain("token");
    }
    const { problems } = load({ "main.tf": 'resource "lab_box" "lab:index:Box" {}' });
    expect(problems.join()).toContain('"lab:index:Box" is not a name');
  });
});

describe("a token in a reference or address", () => {
  const hint = (name: string, token: string) =>
    `The token of a type stands in quotes, as the type of a block. References and addresses have its name: ${token} is ${name}.`;

  it.each([
    ["moved {\n  from = lab:index:Box.a\n  to = lab_box.b\n}", 2],
    ['import {\n  id = "x"\n  to = lab:index:Box.a\n}', 3],
    ["removed {\n  from = lab:index:Box.a\n}", 2],
    ['resource "lab_box" "b" {\n  depends_on = [lab:index:Box.a]\n}', 2],
    ["locals {\n  id = lab:index:Box.a.id\n}", 2],
    ['locals {\n  id = "id ${lab:index:Box.a.id}"\n}', 2],
    ["resource lab:index:Box b {}", 1],
  ])("is told what to write: %s", (text, line) => {
    const { problems } = load({ "main.tf": text });
    const [problem = ""] = problems.filter((one) => one.includes("token"));
    expect(problem).toMatch(new RegExp(`^main.tf:${line} :`));
    expect(problem).toContain(hint("lab_box", "lab:index:Box"));
  });

  it("is reported in JSON files, and for an address that is separate", () => {
    const text = `{"moved": [\n{"from": "lab:index:Box.a", "to": "lab_box.b"}]}`;
    const [problem = ""] = load({ "main.tf.json": text }).problems;
    expect(problem).toMatch(/^main\.tf\.json:2 /);
    expect(problem).toContain(hint("lab_box", "lab:index:Box"));
    for (const address of ["lab:m/get:get.b", "module.x[0].data.lab:m/get:get.b"]) {
      const { value, diagnostics } = parseAddress(address);
      expect(value).toBeUndefined();
      expect(diagnostics.map(({ detail }) => detail).join()).toContain(
        hint("lab_m_get", "lab:m/get:get"),
      );
    }
    expect(
      parseAddress("lab:index")
        .diagnostics.map(({ detail }) => detail)
        .join(),
    ).not.toContain("token");
  });
});

describe("around a token", () => {
  const tree = async (text: string) => {
    const { root, diagnostics } = await loadModuleTree(memoryBundle({ "main.tf": text }));
    const resolution = resolveProviders(root);
    const graph = buildGraph(root, resolution);
    return {
      requirements: [...resolution.requirements.keys()],
      used: [...root.config.resources.values()].map(
        (resource) => resolution.forResource(root, resource)?.address,
      ),
      nodes: graph.order.map(({ id }) => id),
      problems: [...diagnostics, ...resolution.diagnostics, ...graph.diagnostics].map(told),
    };
  };
  const required = (...names: string[]) =>
    `terraform {\n  required_providers {\n${names.map((name) => `    ${name} = { source = "stackwright.local/pulumi/${name}" }\n`).join("")}  }\n}\n`;

  it("the provider is that of the package, and the graph the same as with the name", async () => {
    const body = (type: string) =>
      `${required("lab")}resource "${type}" "a" {}\noutput "o" { value = lab_box.a.id }\n`;
    const byToken = await tree(body("lab:index:Box"));
    expect(byToken).toEqual(await tree(body("lab_box")));
    expect(byToken.problems).toEqual([]);
    expect(byToken.requirements).toEqual(["stackwright.local/pulumi/lab"]);
  });

  it("the provider can be chosen", async () => {
    const text = `${required("lab")}provider "lab" {\n  alias = "two"\n}\nresource "lab:index:Box" "a" {\n  provider = lab.two\n}\n`;
    const { used, problems } = await tree(text);
    expect(problems).toEqual([]);
    expect(used).toEqual(['provider["stackwright.local/pulumi/lab"].two']);
  });

  it("a package with a dash is a local name, unless only its first word is one", async () => {
    const block = 'resource "azure-native:storage:Blob" "a" {}\n';
    expect(await tree(required("azure-native") + block)).toMatchObject({
      problems: [],
      requirements: ["stackwright.local/pulumi/azure-native"],
    });
    const renamed = required("azure-native").replace("azure-native =", "azure =");
    expect(await tree(renamed + block)).toMatchObject({
      problems: [],
      requirements: ["stackwright.local/pulumi/azure-native"],
    });
    const { problems } = await tree(block);
    expect(problems.join()).toContain('The provider "azure-native" is not in required_providers');
  });

  it("the formatter and the exporter leave it as it is written", () => {
    const text = 'resource "lab:index/box:Box" "a" {\nx=1\n}\n';
    expect(formatFile({ name: "main.tf", text }).text).toBe(
      'resource "lab:index/box:Box" "a" {\n  x = 1\n}\n',
    );
    const { text: json } = exportJson(parseFile({ name: "main.tf", text }));
    expect(JSON.parse(json)).toEqual({ resource: { "lab:index/box:Box": { a: { x: 1 } } } });
    expect([...load({ "main.tf.json": json }).config.resources.keys()]).toEqual(["lab_box.a"]);
  });
});

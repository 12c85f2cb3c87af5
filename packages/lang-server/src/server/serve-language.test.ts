import { Type } from "@stackwright/cty";
import { describe, expect, it } from "vitest";
import type { ProviderSchemas } from "../schema/provider-schemas.ts";
import { TestClient } from "../testing/test-client.ts";

const attribute = { sensitive: false, writeOnly: false, deprecated: false };
const SCHEMAS: ProviderSchemas = {
  provider: { attributes: new Map(), blocks: new Map(), deprecated: false },
  resources: new Map([
    [
      "lab_server",
      {
        block: {
          description: "A machine.",
          deprecated: false,
          attributes: new Map([
            [
              "name",
              {
                ...attribute,
                type: Type.string,
                required: true,
                optional: false,
                computed: false,
                description: "What it is called.",
              },
            ],
            [
              "size",
              { ...attribute, type: Type.number, required: false, optional: true, computed: false },
            ],
            [
              "address",
              { ...attribute, type: Type.string, required: false, optional: false, computed: true },
            ],
          ]),
          blocks: new Map([
            [
              "disk",
              {
                nesting: "list" as const,
                minItems: 0,
                maxItems: 0,
                block: {
                  deprecated: false,
                  attributes: new Map([
                    [
                      "gigabytes",
                      {
                        ...attribute,
                        type: Type.number,
                        required: true,
                        optional: false,
                        computed: false,
                      },
                    ],
                  ]),
                  blocks: new Map(),
                },
              },
            ],
          ]),
        },
      },
    ],
  ]),
  dataSources: new Map(),
  ephemeralResources: new Map(),
};
const HOST = {
  schemas: async () => new Map([["registry.terraform.io/hashicorp/lab", SCHEMAS]]),
};

describe("completion", () => {
  it("proposes the inputs of the module, in code that is not complete", async () => {
    await using client = await TestClient.start({
      "main.tf": 'variable "size" {}\nvariable "name" {}\noutput "o" {\n  value = var.|\n}\n',
    });
    expect(await client.labels()).toEqual(["size", "name"]);
  });

  it("proposes the outputs of a called module, and its inputs as arguments", async () => {
    const net = 'variable "cidr" { type = string }\noutput "id" { value = 1 }\n';
    const call = 'module "net" {\n  source = "./net"\n';
    await using outputs = await TestClient.start({
      "main.tf": `${call}}\noutput "o" { value = module.net.| }\n`,
      "net/main.tf": net,
    });
    expect(await outputs.labels()).toEqual(["id"]);
    await using inputs = await TestClient.start({
      "main.tf": `${call}  c|\n}\n`,
      "net/main.tf": net,
    });
    expect(await inputs.labels()).toContain("cidr");
  });

  it("proposes arguments and blocks by the schema, without those that the provider decides", async () => {
    await using client = await TestClient.start(
      { "main.tf": 'resource "lab_server" "a" {\n  size = 1\n  |\n}\n' },
      HOST,
    );
    await expect
      .poll(async () => client.labels())
      .toEqual(expect.arrayContaining(["name", "count", "disk", "lifecycle"]));
    const labels = await client.labels();
    expect(labels).not.toContain("address");
    expect(labels).not.toContain("size");
  });

  it("proposes types, names and attributes of resources", async () => {
    await using types = await TestClient.start({ "main.tf": 'resource "|" "a" {}\n' }, HOST);
    await expect.poll(async () => types.labels()).toEqual(["lab_server"]);
    await using attributes = await TestClient.start(
      {
        "main.tf":
          'resource "lab_server" "a" {\n  name = "x"\n}\noutput "o" {\n  value = lab_server.a.|\n}\n',
      },
      HOST,
    );
    await expect.poll(async () => attributes.labels()).toEqual(["name", "size", "address", "disk"]);
  });

  it("proposes nothing in comments and texts", async () => {
    for (const text of ["# var.|\n", 'output "o" { value = "var.|" }\n']) {
      await using client = await TestClient.start({ "main.tf": `variable "a" {}\n${text}` });
      expect(await client.labels(), text).toEqual([]);
    }
  });

  it("proposes references in the sequence of a template", async () => {
    await using client = await TestClient.start({
      "main.tf": 'variable "a" {}\noutput "o" { value = "x ${var.|} y" }\n',
    });
    expect(await client.labels()).toEqual(["a"]);
  });
});

describe("hover", () => {
  const text = async (client: TestClient): Promise<string> => {
    const found = await client.at<{ contents: { value: string } } | null>("textDocument/hover");
    return found?.contents.value ?? "";
  };

  it("says what an argument, a function and a variable are", async () => {
    await using argument = await TestClient.start(
      { "main.tf": 'resource "lab_server" "a" {\n  na|me = "x"\n}\n' },
      HOST,
    );
    await expect.poll(async () => text(argument)).toContain("What it is called.");
    await using call = await TestClient.start({
      "main.tf": 'output "o" { value = up|per("x") }\n',
    });
    expect(await text(call)).toContain("upper(");
    await using variable = await TestClient.start({
      "main.tf":
        'variable "size" {\n  description = "How large."\n}\noutput "o" { value = var.si|ze }\n',
    });
    expect(await text(variable)).toContain("How large.");
  });

  it("says nothing of a function beside the name of an argument", async () => {
    await using client = await TestClient.start({
      "main.tf": 'resource "other_thing" "a" {\n  na|me = upper("x")\n}\n',
    });
    expect(await text(client)).toBe("");
  });
});

const TWO_MODULES = {
  "main.tf":
    'module "net" {\n  source = "./net"\n  cidr   = "10.0.0.0/8"\n}\noutput "id" {\n  value = module.net.id\n}\n',
  "net/variables.tf": 'variable "ci|dr" {\n  type = string\n}\n',
  "net/main.tf": 'output "id" {\n  value = var.cidr\n}\n',
  "net/terraform.tfvars": 'cidr = "10.1.0.0/16"\n',
};

describe("definition and references", () => {
  it("lead over modules", async () => {
    await using client = await TestClient.start(TWO_MODULES);
    const found = await client.at<{ uri: string; range: { start: object } }[]>(
      "textDocument/references",
      { context: { includeDeclaration: true } },
    );
    expect(
      found.map(({ uri, range }) => [uri.slice(client.uri("").length + 1), range.start]),
    ).toEqual([
      ["net/main.tf", { line: 1, character: 14 }],
      ["net/terraform.tfvars", { line: 0, character: 0 }],
      ["net/variables.tf", { line: 0, character: 10 }],
      ["main.tf", { line: 2, character: 2 }],
    ]);
  });

  it("find the declaration of an output in the called module", async () => {
    await using client = await TestClient.start({
      ...TWO_MODULES,
      "net/variables.tf": 'variable "cidr" {}\n',
      "main.tf": 'module "net" {\n  source = "./net"\n}\noutput "x" { value = module.net.i|d }\n',
    });
    const [found] = await client.at<{ uri: string }[]>("textDocument/definition");
    expect(found?.uri).toBe(client.uri("net/main.tf"));
  });
});

describe("rename", () => {
  it("changes a variable in all its users", async () => {
    await using client = await TestClient.start(TWO_MODULES);
    const { changes } = await client.at<{ changes: never }>("textDocument/rename", {
      newName: "range",
    });
    expect(client.edited(changes)).toEqual({
      "main.tf": TWO_MODULES["main.tf"].replace("cidr  ", "range  "),
      "net/main.tf": 'output "id" {\n  value = var.range\n}\n',
      "net/terraform.tfvars": 'range = "10.1.0.0/16"\n',
      "net/variables.tf": 'variable "range" {\n  type = string\n}\n',
    });
  });

  it("moves the objects of a resource", async () => {
    await using client = await TestClient.start({
      "main.tf": 'resource "lab_server" "a|" {}\noutput "o" { value = lab_server.a.name }\n',
    });
    const { changes } = await client.at<{ changes: never }>("textDocument/rename", {
      newName: "web",
    });
    expect(client.edited(changes)["main.tf"]).toBe(
      'resource "lab_server" "web" {}\noutput "o" { value = lab_server.web.name }\n' +
        "\nmoved {\n  from = lab_server.a\n  to   = lab_server.web\n}\n",
    );
  });

  it("leaves earlier moves as they were, and follows them", async () => {
    const moved = "moved {\n  from = lab_server.a\n  to   = lab_server.b\n}\n";
    await using client = await TestClient.start({
      "main.tf": `resource "lab_server" "b|" {}\n${moved}`,
    });
    const { changes } = await client.at<{ changes: never }>("textDocument/rename", {
      newName: "c",
    });
    expect(client.edited(changes)["main.tf"]).toBe(
      `resource "lab_server" "c" {}\n${moved}\n` +
        "moved {\n  from = lab_server.b\n  to   = lab_server.c\n}\n",
    );
    await expect(client.at("textDocument/rename", { newName: "a" })).rejects.toThrow("went");
  });

  it("changes values in folders below the module", async () => {
    await using client = await TestClient.start({
      "main.tf": 'variable "si|ze" {}\n',
      "envs/prod.tfvars": "size = 1\n",
      "other/main.tf": 'variable "size" {}\n',
      "other/prod.tfvars": "size = 2\n",
    });
    const { changes } = await client.at<{ changes: never }>("textDocument/rename", {
      newName: "count_of",
    });
    expect(client.edited(changes)).toEqual({
      "main.tf": 'variable "count_of" {}\n',
      "envs/prod.tfvars": "count_of = 1\n",
    });
  });

  it("renames the alias of a provider configuration where it is declared and used", async () => {
    await using client = await TestClient.start({
      "main.tf":
        'provider "lab" {\n  alias = "west"\n}\nresource "lab_server" "a" {\n  provider = lab.we|st\n}\n',
    });
    const { changes } = await client.at<{ changes: never }>("textDocument/rename", {
      newName: "north",
    });
    expect(client.edited(changes)["main.tf"]).toBe(
      'provider "lab" {\n  alias = "north"\n}\nresource "lab_server" "a" {\n  provider = lab.north\n}\n',
    );
  });

  it.each([
    ["a name that is taken", { "main.tf": 'variable "a|" {}\nvariable "b" {}\n' }, "b", "already"],
    ["an invalid name", { "main.tf": 'variable "a|" {}\n' }, "1 b", "not a valid name"],
    [
      "what values set that may be for any module",
      { "infra/main.tf": 'variable "size|" {}\n', "vars/prod.tfvars": "size = 1\n" },
      "b",
      "vars/prod.tfvars",
    ],
    ["a place without a name", { "main.tf": "# not|hing\n" }, "b", "Nothing here"],
  ])("refuses %s", async (_what, texts, newName, message) => {
    await using client = await TestClient.start(texts);
    await expect(client.at("textDocument/rename", { newName })).rejects.toThrow(message);
  });
});

it("refuses to rename what may be used in files that are not searched", async () => {
  await using client = await TestClient.start(
    { "main.tf": 'variable "size|" {}\n', "a/main.tf": "", "b/main.tf": "" },
    {},
    { maxFiles: 2 },
  );
  await expect(client.at("textDocument/rename", { newName: "b" })).rejects.toThrow("more files");
});

describe("problems", () => {
  const summaries = (client: TestClient, path: string): string[] =>
    (client.problems.get(path) ?? []).map(({ message }) =>
      typeof message === "string" ? (message.split(":")[0] ?? "") : "",
    );

  it("are those of the text in the editor, and go with their cause", async () => {
    await using client = await TestClient.start({
      "main.tf": 'output "o" { value = var.nope }\n',
    });
    await expect
      .poll(() => summaries(client, "main.tf"))
      .toEqual(["Reference to undeclared input variable"]);
    await client.change("main.tf", 'variable "nope" {}\noutput "o" { value = var.nope }\n', 2);
    await expect.poll(() => client.problems.get("main.tf")).toEqual([]);
  });

  it("are found by the schema", async () => {
    await using client = await TestClient.start(
      { "main.tf": 'resource "lab_server" "a" {\n  nme = "x"\n}\n' },
      HOST,
    );
    await expect
      .poll(() => summaries(client, "main.tf"))
      .toEqual(["Unsupported argument", "Missing required argument"]);
  });

  it("name the type that a provider does not have, and the one that was meant", async () => {
    const text = (type: string) =>
      `resource "${type}" "a" {\n  name = "x"\n}\nresource "other_server" "b" {}\n`;
    await using client = await TestClient.start({ "main.tf": text("lab_servr") }, HOST);
    await expect
      .poll(() => client.problems.get("main.tf")?.map(({ message }) => message))
      .toEqual([
        'Invalid resource type: The provider registry.terraform.io/hashicorp/lab has no resource type "lab_servr". Did you mean "lab_server"?',
      ]);
    await client.change("main.tf", text("lab_server"), 2);
    await expect.poll(() => client.problems.get("main.tf")).toEqual([]);
  });

  it("come with fixes", async () => {
    await using client = await TestClient.start(
      {
        "main.tf":
          'resource "lab_server" "a" {\n  n|me = "x"\n}\noutput "o" { value = var.nope }\n',
      },
      HOST,
    );
    await expect.poll(() => summaries(client, "main.tf").length).toBe(3);
    const diagnostics = client.problems.get("main.tf");
    const position = { line: 1, character: 3 };
    const actions = await client.at<{ title: string; edit: { changes: never } }[]>(
      "textDocument/codeAction",
      { range: { start: position, end: position }, context: { diagnostics } },
    );
    const results = Object.fromEntries(
      actions.map(({ title, edit }) => [title, client.edited(edit.changes)["main.tf"]]),
    );
    expect(results['Change to "name"']).toContain('  name = "x"\n');
    expect(results['Declare the variable "nope"']).toContain('\nvariable "nope" {\n');
    expect(results["Add the required arguments"]).toContain('  nme = "x"\n  name = ""\n}');
    expect(results["Require the provider hashicorp/lab"]).toContain(
      "required_providers {\n    lab = {",
    );
  });
});

describe("the file as a whole", () => {
  const text = '# one\n# two\n\nresource "lab_server" "a" {\n  tags = {\n    a = 1\n  }\n}\n';

  it("has symbols, folds, tokens and a canonical form", async () => {
    await using client = await TestClient.start({ "main.tf": `|${text.replace("a = 1", "a=1")}` });
    const symbols = await client.at<{ name: string }[]>("textDocument/documentSymbol");
    expect(symbols.map(({ name }) => name)).toEqual(['resource "lab_server" "a"']);
    expect(await client.at("textDocument/foldingRange")).toEqual([
      { startLine: 3, endLine: 6 },
      { startLine: 4, endLine: 5 },
      { startLine: 0, endLine: 1, kind: "comment" },
    ]);
    const { data } = await client.at<{ data: number[] }>("textDocument/semanticTokens/full");
    expect(data.length % 5).toBe(0);
    expect(data.slice(0, 10)).toEqual([0, 0, 5, 6, 0, 1, 0, 5, 6, 0]);
    const { resultId } = await client.at<{ resultId: string }>("textDocument/semanticTokens/full");
    const delta = "textDocument/semanticTokens/full/delta";
    expect(await client.at(delta, { previousResultId: resultId })).toMatchObject({ edits: [] });
    expect(await client.at(delta, { previousResultId: resultId })).toMatchObject({ data });
    const edits = await client.at<never[]>("textDocument/formatting", { options: {} });
    expect(client.edited({ [client.uri("main.tf")]: edits })["main.tf"]).toBe(text);
    const [inner] = await client.at<{ parent?: object }[]>("textDocument/selectionRange", {
      positions: [{ line: 5, character: 4 }],
    });
    expect(inner?.parent).toBeDefined();
  });
});

describe("a part of a file", () => {
  const text = `locals {
a=1
}

variable "x" {
type=string
}
variable "y" {
    default=1
}

output "z" {
value=1
}
`;
  const formatted = text
    .replace("type=string", "  type = string")
    .replace("    default=1", "  default = 1");
  const edited = async (method: string, params: object, marked: string): Promise<unknown> => {
    await using client = await TestClient.start({ "main.tf": marked });
    const edits = await client.at<never[]>(method, { options: {}, ...params });
    return client.edited({ [client.uri("main.tf")]: edits })["main.tf"];
  };

  it("gets its canonical form with the blocks that stand beside it, and others keep theirs", async () => {
    const range = { start: { line: 5, character: 0 }, end: { line: 5, character: 3 } };
    expect(await edited("textDocument/rangeFormatting", { range }, `|${text}`)).toBe(formatted);
    const marked = text.replace("default=1\n}", "default=1\n}|");
    expect(await edited("textDocument/onTypeFormatting", { ch: "}" }, marked)).toBe(formatted);
  });

  it("that is not complete, or between blocks, stays as it is", async () => {
    const between = { start: { line: 3, character: 0 }, end: { line: 3, character: 0 } };
    expect(await edited("textDocument/rangeFormatting", { range: between }, `|${text}`)).toBe(text);
    const broken = text.replace("type=string", "type=(");
    const range = { start: { line: 5, character: 0 }, end: { line: 5, character: 0 } };
    expect(await edited("textDocument/rangeFormatting", { range }, `|${broken}`)).toBe(broken);
  });
});

describe("the life of a server", () => {
  it("ends with 0 after shutdown, and refuses requests in between", async () => {
    await using client = await TestClient.start({ "main.tf": "|" });
    await client.connection.sendRequest("shutdown");
    await expect(client.at("textDocument/hover")).rejects.toThrow("shut down");
    await client.connection.sendNotification("exit");
    expect(await client.server.ended).toBe(0);
  });

  it("ends with 1 where the client leaves without a word", async () => {
    await using client = await TestClient.start({ "main.tf": "|" });
    await client.connection.sendNotification("exit");
    expect(await client.server.ended).toBe(1);
  });
});

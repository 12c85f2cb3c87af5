import { describe, expect, it } from "vitest";
import type { DocumentSymbol, FoldingRange, Location } from "vscode-languageserver-protocol";
import { TestClient } from "../testing/test-client.ts";

type Texts = Readonly<Record<string, string>>;

/** The texts of the files that a rename of what is at the cursor changes. */
async function renamed(texts: Texts, newName: string): Promise<Texts> {
  await using client = await TestClient.start(texts);
  const { changes } = await client.at<{ changes: never }>("textDocument/rename", { newName });
  return client.edited(changes);
}

/** The stretches of text that an answer of places is about, with their files. */
async function places(texts: Texts, method: string): Promise<string[]> {
  await using client = await TestClient.start(texts);
  const found = await client.at<Location[]>(method, { context: { includeDeclaration: true } });
  return found.map(({ uri, range: { start, end } }) => {
    const path = uri.slice(client.uri("").length + 1);
    const text = (texts[path] ?? "").replace("|", "");
    const line = text.split("\n")[start.line] ?? "";
    return `${path}:${start.line}:${line.slice(start.character, end.character)}`;
  });
}

describe("a rename in JSON syntax", () => {
  it.each([
    [
      "a variable, from a template",
      { "main.tf.json": '{"variable":{"zone":{}},"output":{"o":{"value":"a ${var.zo|ne} b"}}}' },
      "area",
      { "main.tf.json": '{"variable":{"area":{}},"output":{"o":{"value":"a ${var.area} b"}}}' },
    ],
    [
      "a variable, from its declaration, in native files and values as well",
      {
        "a.tf.json": '{"variable":{"zo|ne":{"type":"string"}}}',
        "b.tf": 'output "o" {\n  value = var.zone\n}\n',
        "prod.tfvars.json": '{"zone":"zone"}',
      },
      "area",
      {
        "a.tf.json": '{"variable":{"area":{"type":"string"}}}',
        "b.tf": 'output "o" {\n  value = var.area\n}\n',
        "prod.tfvars.json": '{"area":"zone"}',
      },
    ],
    [
      "a local behind escapes and signs of several units",
      {
        "a.tf.json":
          '{"//":"zone","locals":{"zone":1,"x":"\\ud83d\\ude00😀\\t\\"${upper(\\"\\u007b\\", local.zo|ne)}${local.zone}"}}',
      },
      "area",
      {
        "a.tf.json":
          '{"//":"zone","locals":{"area":1,"x":"\\ud83d\\ude00😀\\t\\"${upper(\\"\\u007b\\", local.area)}${local.area}"}}',
      },
    ],
    [
      "a name that is written with escapes",
      {
        "a.tf.json":
          '{"locals":{"z\\u006fne":1},"output":{"o":{"value":"${local.z\\u006fn\\u0065 + local.zo|ne}"}}}',
      },
      "area",
      {
        "a.tf.json": '{"locals":{"area":1},"output":{"o":{"value":"${local.area + local.area}"}}}',
      },
    ],
    [
      "an output over a call in JSON",
      {
        "net/main.tf.json": '{"output":{"i|d":{"value":1}}}',
        "main.tf.json":
          '{"module":{"net":{"source":"./net"}},"output":{"id":{"value":"${module.net.id}"}}}',
      },
      "key",
      {
        "net/main.tf.json": '{"output":{"key":{"value":1}}}',
        "main.tf.json":
          '{"module":{"net":{"source":"./net"}},"output":{"id":{"value":"${module.net.key}"}}}',
      },
    ],
    [
      "an input of a call in JSON",
      {
        "net/main.tf": 'variable "si|ze" {}\n',
        "main.tf.json": '{"module":[{"net":[{"source":"./net","size":1}]}]}',
      },
      "amount",
      {
        "net/main.tf": 'variable "amount" {}\n',
        "main.tf.json": '{"module":[{"net":[{"source":"./net","amount":1}]}]}',
      },
    ],
    [
      "the alias of a provider",
      {
        "main.tf.json":
          '{"provider":{"lab":[{},{"alias":"west"}]},"resource":{"lab_server":{"a":{"provider":"lab.we|st"}}},"module":{"m":{"source":"./m","providers":{"lab":"lab.west"}}}}',
      },
      "north",
      {
        "main.tf.json":
          '{"provider":{"lab":[{},{"alias":"north"}]},"resource":{"lab_server":{"a":{"provider":"lab.north"}}},"module":{"m":{"source":"./m","providers":{"lab":"lab.north"}}}}',
      },
    ],
    [
      "no iterator of a generated block",
      {
        "main.tf.json":
          '{"resource":{"disk":{"value|":{}},"lab_server":{"b":{"x":{"dynamic":{"disk":{"for_each":[1],"content":{"n":"${disk.value}"}}}},"y":"${disk.value.z}"}}}}',
      },
      "c",
      {
        "main.tf.json":
          '{"resource":{"disk":{"c":{}},"lab_server":{"b":{"x":{"dynamic":{"disk":{"for_each":[1],"content":{"n":"${disk.value}"}}}},"y":"${disk.c.z}"}}}, "moved": [{ "from": "disk.value", "to": "disk.c" }]}',
      },
    ],
  ])("changes %s", async (_what, texts, newName, expected) => {
    expect(await renamed(texts as unknown as Texts, newName)).toEqual(expected);
  });

  it("moves the objects of a resource, whose references may be plain text", async () => {
    const text = `{
  "resource": {
    "lab_server": {
      "a|": {},
      "b": { "depends_on": ["lab_server.a"], "name": "\${lab_server.a.name}", "lifecycle": { "replace_triggered_by": ["lab_server.a.id"] } }
    }
  }
}
`;
    expect(await renamed({ "main.tf.json": text }, "web")).toEqual({
      "main.tf.json": `{
  "resource": {
    "lab_server": {
      "web": {},
      "b": { "depends_on": ["lab_server.web"], "name": "\${lab_server.web.name}", "lifecycle": { "replace_triggered_by": ["lab_server.web.id"] } }
    }
  },
  "moved": [{ "from": "lab_server.a", "to": "lab_server.web" }]
}
`,
    });
  });

  it.each([
    [
      '{"from":"lab_server.x","to":"lab_server.a"}',
      '[{"from":"lab_server.x","to":"lab_server.a"}, MOVED]',
    ],
    [
      '[{"from":"lab_server.x","to":"lab_server.a"}]',
      '[{"from":"lab_server.x","to":"lab_server.a"}, MOVED]',
    ],
    ["[]", "[MOVED]"],
  ])("leaves earlier moves as they were: %s", async (before, after) => {
    const text = (name: string, moved: string) =>
      `{"resource":{"lab_server":{"${name}":{}}},"moved":${moved}}`;
    const moved = '{ "from": "lab_server.a", "to": "lab_server.b" }';
    expect(await renamed({ "main.tf.json": text("a|", before) }, "b")).toEqual({
      "main.tf.json": text("b", after.replace("MOVED", moved)),
    });
  });

  it("is refused where a file that cannot be read as a whole has the name", async () => {
    await using client = await TestClient.start({
      "main.tf": 'variable "zo|ne" {}\n',
      "b.tf.json": '{"output":{"o":{"value":"${var.zone}"}',
    });
    await expect(client.at("textDocument/rename", { newName: "b" })).rejects.toThrow("b.tf.json");
  });

  it("is refused where the name is taken in another syntax", async () => {
    await using client = await TestClient.start({
      "main.tf": 'variable "zo|ne" {}\n',
      "b.tf.json": '{"variable":{"area":{}}}',
    });
    await expect(client.at("textDocument/rename", { newName: "area" })).rejects.toThrow("already");
  });
});

const MAIN = `{
  "variable": { "zone": { "type": "string", "description": "Where." } },
  "module": { "net": { "source": "./net", "cidr": "\${var.zone}" } },
  "output": { "o": { "value": ["\${module.net.id}", "\\"\${var.zo|ne}"] } }
}
`;
const NET = { "net/main.tf": 'variable "cidr" {}\noutput "id" {\n  value = var.cidr\n}\n' };

describe("a file in JSON syntax", () => {
  it("has definitions and references, of which places in templates are exact", async () => {
    const texts = { "main.tf.json": MAIN, ...NET };
    expect(await places(texts, "textDocument/definition")).toEqual(["main.tf.json:1:zone"]);
    expect(await places(texts, "textDocument/references")).toEqual([
      "main.tf.json:1:zone",
      "main.tf.json:2:zone",
      "main.tf.json:3:zone",
    ]);
    const call = MAIN.replace("|", "").replace('"cidr"', '"ci|dr"');
    expect(await places({ ...texts, "main.tf.json": call }, "textDocument/definition")).toEqual([
      "net/main.tf:0:cidr",
    ]);
  });

  it("has highlights, with that of the declaration as a place of writing", async () => {
    await using client = await TestClient.start({ "main.tf.json": MAIN, ...NET });
    const found = await client.at<{ kind: number }[]>("textDocument/documentHighlight");
    expect(found.map(({ kind }) => kind)).toEqual([3, 2, 2]);
  });

  it("has hovers about names and functions in templates", async () => {
    const said = async (text: string): Promise<string> => {
      await using client = await TestClient.start({ "main.tf.json": text, ...NET });
      const found = await client.at<{ contents: { value: string } } | null>("textDocument/hover");
      return found?.contents.value ?? "";
    };
    expect(await said(MAIN)).toContain("Where.");
    const call = '{"output":{"o":{"value":"\\"${up|per(\\"x\\")}"}}}';
    expect(await said(call)).toContain("upper(");
  });

  it("has symbols, ranges that fold, and links to the modules that it calls", async () => {
    await using client = await TestClient.start({ "main.tf.json": MAIN, ...NET });
    const symbols = await client.at<DocumentSymbol[]>("textDocument/documentSymbol");
    expect(symbols.map(({ name }) => name)).toEqual([
      'variable "zone"',
      'module "net"',
      'output "o"',
    ]);
    expect(symbols[1]?.children?.map(({ name }) => name)).toEqual(["source", "cidr"]);
    const links = await client.at<{ target: string }[]>("textDocument/documentLink");
    expect(links.map(({ target }) => target)).toEqual([client.uri("net/main.tf")]);
    await using lines = await TestClient.start({
      "main.tf.json": '{\n  "locals": {\n    "a": [\n      1\n    ]\n  }\n}\n|',
    });
    const folds = await lines.at<FoldingRange[]>("textDocument/foldingRange");
    expect(folds.map(({ startLine, endLine }) => [startLine, endLine])).toEqual([
      [1, 4],
      [2, 3],
    ]);
  });

  it("has no edits in native syntax", async () => {
    await using client = await TestClient.start({ "main.tf.json": MAIN, ...NET });
    expect(await client.at("textDocument/formatting", { options: {} })).toBeNull();
    const start = { line: 2, character: 60 };
    const actions = await client.at("textDocument/codeAction", {
      range: { start, end: start },
      context: { diagnostics: [] },
    });
    expect(actions).toEqual([]);
  });
});

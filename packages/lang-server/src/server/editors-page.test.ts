import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Type } from "@stackwright/cty";
import { describe, expect, it } from "vitest";
import type { CodeAction, InlayHint } from "vscode-languageserver-protocol/node";
import type { ProviderSchemas } from "../schema/provider-schemas.ts";
import { offeredActions } from "../testing/offered-actions.ts";
import { TestClient } from "../testing/test-client.ts";

// What apps/cli/docs/editors.md says that an editor shows; what it says of the command and of settings is tried beside the command.

const PAGE = readFileSync(
  join(import.meta.dirname, "../../../../apps/cli/docs/editors.md"),
  "utf8",
);

const attribute = {
  type: Type.string,
  sensitive: false,
  writeOnly: false,
  deprecated: false,
  computed: false,
};
const SCHEMAS: ProviderSchemas = {
  provider: { attributes: new Map(), blocks: new Map(), deprecated: false },
  resources: new Map([
    [
      "lab_server",
      {
        block: {
          deprecated: false,
          attributes: new Map([
            ["name", { ...attribute, required: true, optional: false }],
            ["size", { ...attribute, required: false, optional: true }],
          ]),
          blocks: new Map(),
        },
      },
    ],
  ]),
  dataSources: new Map(),
  ephemeralResources: new Map(),
};
const HOST = {
  schemas: async () => Promise.resolve(new Map([["registry.terraform.io/hashicorp/lab", SCHEMAS]])),
};

/** The files after each quick fix for the problems of `main.tf`, by its title. */
async function fixes(texts: Readonly<Record<string, string>>) {
  await using client = await TestClient.start(texts, HOST);
  await expect.poll(() => client.problems.get("main.tf")?.length ?? 0).toBeGreaterThan(0);
  const diagnostics = client.problems.get("main.tf") ?? [];
  const end = { line: 99, character: 0 };
  const found = await client.connection.sendRequest<CodeAction[]>("textDocument/codeAction", {
    textDocument: { uri: client.uri("main.tf") },
    range: { start: { line: 0, character: 0 }, end },
    context: { diagnostics },
  });
  return Object.fromEntries(
    found.map(({ title, edit }) => [title, client.edited((edit?.changes ?? {}) as never)]),
  );
}

const server = (text: string): string => `resource "lab_server" "a" {\n${text}}\n`;

/** What is tried of each row of the table, by its first column. */
const ROWS: Readonly<Record<string, () => Promise<void>>> = {
  "a misspelt type, argument or reference": async () => {
    const misspelt = {
      type: server('  name = "x"\n').replace("lab_server", "lab_servr"),
      argument: server('  name = "x"\n  siz = "1"\n'),
      reference: 'variable "region" {}\noutput "o" { value = var.regoin }\n',
    };
    for (const [what, text] of Object.entries(misspelt)) {
      const titles = Object.keys(await fixes({ "main.tf": text }));
      expect([what, titles]).toEqual([
        what,
        expect.arrayContaining([
          expect.stringMatching(/^Change to ".*(?:lab_server|size|region)"$/),
        ]),
      ]);
    }
  },
  "`var.region` that is not declared": async () => {
    const main = 'output "o" {\n  value = var.region\n}\n';
    const alone = await fixes({ "main.tf": main });
    expect(alone['Declare the variable "region"']?.["main.tf"]).toContain('variable "region" {');
    const beside = await fixes({ "main.tf": main, "variables.tf": 'variable "a" {}\n' });
    const [, files = {}] =
      Object.entries(beside).find(([title]) => title.startsWith("Declare")) ?? [];
    expect(files["variables.tf"]).toContain('variable "region" {');
  },
  "required arguments that are missing": async () => {
    const found = await fixes({ "main.tf": server("") });
    expect(found["Add the required arguments"]?.["main.tf"]).toContain('  name = ""\n');
  },
  "a resource of a provider that no block requires": async () => {
    const found = await fixes({ "main.tf": server("") });
    expect(found["Require the provider hashicorp/lab"]?.["main.tf"]).toMatch(
      /required_providers \{\n {4}lab = \{/,
    );
  },
  "an old name": async () => {
    const renamed = async (texts: Readonly<Record<string, string>>) => {
      await using client = await TestClient.start(texts);
      const params = { newName: "fresh" };
      const { changes } = await client.at<{ changes: never }>("textDocument/rename", params);
      return client.edited(changes);
    };
    const modules = await renamed({
      "main.tf": 'module "net" {\n  source = "./net"\n  zone   = 1\n}\n',
      "net/main.tf": 'variable "zo|ne" {}\n',
      "net/envs/prod.tfvars": "zone = 2\n",
    });
    expect(Object.keys(modules).toSorted()).toEqual([
      "main.tf",
      "net/envs/prod.tfvars",
      "net/main.tf",
    ]);
    const moved = await renamed({ "main.tf": 'resource "lab_server" "a|" {}\n' });
    expect(moved["main.tf"]).toContain("moved {");
    const others = await renamed({
      "a.tf": 'variable "zo|ne" {}\n',
      "b.tf.json": '{"output":{"o":{"value":"${var.zone}"}}}',
      "a.tftest.hcl": "variables {\n  zone = 1\n}\n",
    });
    expect(Object.keys(others).toSorted()).toEqual(["a.tf", "a.tftest.hcl", "b.tf.json"]);
    for (const refused of [
      { "a.tf": 'variable "zo|ne" {}\n', "a.tfmock.hcl": 'mock_resource "zone" {}\n' },
      { "infra/a.tf": 'variable "zo|ne" {}\n', "vars/prod.tfvars": "zone = 1\n" },
    ]) {
      await expect(renamed(refused)).rejects.toThrow(/tfmock|prod\.tfvars/);
    }
  },
  "`count` of a constant number or of the length of a list": async () => {
    for (const count of ["2", 'length(["x", "y"])']) {
      const main = `resource "lab_server" "a" {\n  «»count = ${count}\n}\n`;
      const found = await offeredActions({ "main.tf": main }, "refactor");
      const text = found["Convert count of lab_server.a to for_each"]?.["main.tf"];
      expect(text?.match(/^moved \{$/gm)).toHaveLength(2);
    }
  },
  "the header of a resource or a module": async () => {
    const titles = async (main: string) =>
      Object.keys(await offeredActions({ "main.tf": main }, "refactor")).join();
    expect(await titles('«»resource "lab_server" "a" {\n}\n')).toMatch(/import.*moved.*removed/);
    expect(await titles('«»module "m" {\n  source = "./m"\n}\n')).toMatch(/moved.*removed/);
  },
  "selected blocks, or the header of one": async () => {
    const texts = { "main.tf": 'variable "«»a" {\n}\nmodule "m" {\n}\n', "variables.tf": "" };
    const found = await offeredActions(texts, "refactor");
    expect(found["Move the block to variables.tf"]?.["variables.tf"]).toContain('"a"');
    const named = await offeredActions(
      { "main.tf": '«module "m" {\n}\nresource "t" "n" {\n}»\n', "m.tf": "" },
      "refactor",
    );
    expect(named["Move 2 blocks to m.tf"]?.["m.tf"]).toContain('resource "t" "n"');
  },
  "an object whose keys are not sorted": async () => {
    const main = "locals {\n  a = {«»\n    # B.\n    b = 1\n    a = 2\n  }\n}\n";
    const found = await offeredActions({ "main.tf": main }, "refactor");
    expect(found["Sort the keys"]?.["main.tf"]).toContain("a = 2\n    # B.\n    b = 1\n");
  },
  "an entry of `required_providers`": async () => {
    const texts = {
      "main.tf": 'terraform {\n  required_providers {\n    lab = "«»> 0"\n  }\n}\n',
      ".terraform.lock.hcl":
        'provider "registry.terraform.io/hashicorp/lab" {\n  version = "1.2.3"\n}\n',
    };
    const [after] = Object.values(await offeredActions(texts, "refactor"));
    expect(after?.["main.tf"]).toContain('lab = "~> 1.2"');
  },
  "a file, where all refactorings are listed": async () => {
    const capabilities = {
      workspace: { workspaceEdit: { documentChanges: true, resourceOperations: ["rename"] } },
    };
    const titles = async (name: string, text: string) =>
      Object.keys(await offeredActions({ [name]: `«»${text}` }, "refactor", capabilities));
    expect(await titles("a.tf", "locals {}\n")).toEqual(["Convert the file to JSON syntax"]);
    expect(await titles("a.tf.json", '{"locals": {}}')).toEqual([
      "Convert the file to native syntax",
    ]);
    expect(await titles("a.tf", "# A.\nlocals {}\n")).toEqual([]);
    expect(await titles("a.tf.json", '{"data": {"t": {"n": {"x": {}}}}}')).toEqual([]);
  },
};

describe("the table of what helps", () => {
  const [, table = ""] = /\n\| In the text .*?\n\|[- |]+\|\n(.*?)\n\n/s.exec(PAGE) ?? [];
  const rows = table.split("\n").map((row) => row.split("|")[1]?.trim() ?? "");

  it("has what is tried", () => {
    expect(rows).toEqual(Object.keys(ROWS));
  });

  it.each(rows)("holds for %s", async (row) => {
    await ROWS[row]?.();
  });
});

async function hints(client: TestClient): Promise<readonly InlayHint[]> {
  return client.connection.sendRequest("textDocument/inlayHint", {
    textDocument: { uri: client.uri("main.tf") },
    range: { start: { line: 0, character: 0 }, end: { line: 99, character: 0 } },
  });
}

/** An option of `initialize` as the page writes it, such as `valueHints = true`. */
function optionOf(pattern: RegExp): object {
  const [, name = "", value = ""] = pattern.exec(PAGE) ?? [];
  return { [name]: JSON.parse(value) as unknown };
}

it("the option of the page for values shows types, constants and numbers of instances", async () => {
  await using client = await TestClient.start(
    {
      "main.tf":
        'variable "v" { type = number }\nlocals {\n  l = 2\n}\noutput "o" { value = [var.v, local.l] }\nresource "lab_server" "a" {\n  count = 3\n}\n',
    },
    {},
    {},
    optionOf(/initialization option `(\w+) = (\w+)`/),
  );
  const labels = (await hints(client)).map(({ label }) =>
    JSON.stringify(label).replaceAll(/[" ]/g, ""),
  );
  expect(labels.toSorted()).toEqual([":number", "=2", "×3"]);
});

it("the option of the page for planned changes shows them in the form of the page after a save", async () => {
  const [, shown = ""] = /shows what that would do: `(.*?)`/.exec(PAGE) ?? [];
  const planned = (at: number, action: "create" | "update") =>
    ({ block: "lab_server.a", address: `lab_server.a[${at}]`, action }) as const;
  await using client = await TestClient.start(
    { "main.tf": server("  count = 3\n") },
    {
      plan: async () =>
        Promise.resolve({
          changes: [planned(0, "create"), planned(1, "create"), planned(2, "update")],
        }),
    },
    {},
    { ...optionOf(/init_options = \{ (\w+) = (\w+) \}/), trusted: true },
  );
  await client.save("main.tf");
  await expect.poll(async () => (await hints(client)).map(({ label }) => label)).toEqual([shown]);
  const [{ tooltip } = { tooltip: "" }] = await hints(client);
  expect(JSON.stringify(tooltip)).toContain("lab_server.a[2]");
});

it("an editor that is set up for another server of the language finds what the page names", async () => {
  await using client = await TestClient.start({ "main.tf": "  output o {\nvalue=1\n}\n" });
  const [, action = ""] = /the action `(.*?)`/.exec(PAGE) ?? [];
  const range = { start: { line: 0, character: 0 }, end: { line: 0, character: 0 } };
  const found = await client.connection.sendRequest<CodeAction[]>("textDocument/codeAction", {
    textDocument: { uri: client.uri("main.tf") },
    range,
    context: { diagnostics: [], only: [action] },
  });
  expect(found.map(({ kind }) => kind)).toEqual([action]);
  for (const command of ["terraform-ls.module.calls", "terraform-ls.module.providers"]) {
    const answer = client.connection.sendRequest("workspace/executeCommand", {
      command,
      arguments: [`uri=${client.uri("main.tf")}`],
    });
    await expect(answer).resolves.toBeTruthy();
  }
});

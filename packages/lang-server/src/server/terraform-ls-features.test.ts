import { expect, it } from "vitest";
import { TestClient } from "../testing/test-client.ts";

// What editors that were set up for terraform-ls ask for, each once: an answer of the same form.

const FILES = {
  "main.tf": `terraform {
  required_providers {
    lab = {
      source  = "example.com/acme/lab"
      version = "~> 1.2"
    }
    other = "2.0.0"
  }
}
variable "name" {}
module "net" {
  source = "./net"
  name   = upper(var.na|me)
}
module "far" {
  source  = "acme/vpc/lab"
  version = "1.0.0"
}
`,
  "net/main.tf": 'variable "name" {}\noutput "id" { value = var.name }\n',
  ".terraform.lock.hcl": `provider "example.com/acme/lab" {
  version     = "1.2.3"
  constraints = "~> 1.2"
}
`,
};

const start = async (options: object = {}, capabilities: object = {}): Promise<TestClient> =>
  TestClient.start(FILES, {}, {}, options, undefined, capabilities);

it.each([
  ["textDocument/completion", {}],
  ["textDocument/hover", {}],
  ["textDocument/definition", {}],
  ["textDocument/declaration", {}],
  ["textDocument/references", { context: { includeDeclaration: true } }],
  ["textDocument/documentSymbol", {}],
  ["workspace/symbol", { query: "name" }],
  ["textDocument/documentLink", {}],
  ["textDocument/formatting", { options: { tabSize: 2, insertSpaces: true } }],
  [
    "textDocument/codeAction",
    {
      range: { start: { line: 0, character: 0 }, end: { line: 0, character: 0 } },
      context: { diagnostics: [], only: ["source.formatAll.terraform"] },
    },
  ],
  ["textDocument/signatureHelp", {}],
  ["textDocument/semanticTokens/full", {}],
])("%s has an answer", async (method, params) => {
  await using client = await start();
  const found = await client.at<object | null>(method, params);
  expect(found).not.toBeNull();
  // What has its canonical form already has no edits.
  if (Array.isArray(found) && !/formatting|codeAction/.test(method)) expect(found).not.toEqual([]);
});

it("proposals are resolved to what they were", async () => {
  await using client = await start();
  const [item] = await client.at<object[]>("textDocument/completion");
  expect(await client.connection.sendRequest("completionItem/resolve", item)).toEqual(item);
});

it("references are counted above declarations where the client can show them", async () => {
  await using quiet = await start();
  expect(await quiet.at("textDocument/codeLens")).toEqual([]);
  await using client = await start({}, { experimental: { showReferencesCommandId: "show" } });
  const lenses = await client.at<{ range: { start: { line: number } } }[]>("textDocument/codeLens");
  const texts: Record<number, unknown> = {};
  for (const lens of lenses) {
    const { command } = await client.connection.sendRequest<{ command: object }>(
      "codeLens/resolve",
      lens,
    );
    texts[lens.range.start.line] = command;
  }
  const at = (line: number, character: number, title: string): object => ({
    title,
    command: "show",
    arguments: [{ line, character }, { includeDeclaration: false }],
  });
  expect(texts).toEqual({
    9: at(9, 10, "1 reference"),
    10: at(10, 8, "0 references"),
    14: at(14, 8, "0 references"),
  });
});

it("commands say what a module calls, by what it is called, and what it requires", async () => {
  await using client = await start({ commandPrefix: "7" });
  const run = async (name: string, path: string): Promise<unknown> =>
    client.connection.sendRequest("workspace/executeCommand", {
      command: `7.terraform-ls.${name}`,
      arguments: [`uri=${client.uri(path)}`],
    });
  expect(await run("module.callers", "net")).toEqual({
    v: 0,
    callers: [{ uri: client.uri("").replace(/\/$/, "") }],
  });
  expect(await run("module.calls", "main.tf")).toEqual({
    v: 0,
    module_calls: [
      { name: "net", source_addr: "./net", source_type: "local", dependent_modules: [] },
      {
        name: "far",
        source_addr: "acme/vpc/lab",
        version: "1.0.0",
        source_type: "tfregistry",
        dependent_modules: [],
      },
    ],
  });
  expect(await run("module.providers", "")).toEqual({
    v: 0,
    provider_requirements: {
      "example.com/acme/lab": {
        display_name: "example.com/acme/lab",
        version_constraint: "~> 1.2",
      },
      "registry.terraform.io/hashicorp/other": {
        display_name: "hashicorp/other",
        version_constraint: "2.0.0",
      },
    },
    installed_providers: { "example.com/acme/lab": "1.2.3" },
  });
});

it("the command to validate asks providers, and the one to install says who does", async () => {
  const validated: string[] = [];
  await using client = await TestClient.start(FILES, {
    validate: async (folder) => {
      validated.push(folder);
      return [];
    },
  });
  const run = async (name: string, args: readonly string[]): Promise<unknown> =>
    client.connection.sendRequest("workspace/executeCommand", { command: name, arguments: args });
  const uri = `uri=${client.uri("main.tf")}`;
  expect(await run("terraform-ls.validate", [uri])).toBeNull();
  await expect.poll(() => validated).toEqual([client.folder]);
  await expect(run("terraform-ls.init", [uri])).rejects.toThrow('Run "stackwright init" in');
  await expect(run("terraform-ls.validate", [])).rejects.toThrow("needs an argument uri=FOLDER");
  await expect(run("toString", [uri])).rejects.toThrow("There is no command toString");
});

import { mkdir, mkdtempDisposable, readFile, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { PassThrough } from "node:stream";
import { fileURLToPath, pathToFileURL } from "node:url";
import { serveLanguage } from "@stackwright/lang-server";
import { expect, it, onTestFinished } from "vitest";
import {
  createProtocolConnection,
  type ProtocolConnection,
  StreamMessageReader,
  StreamMessageWriter,
  type TextEdit,
  type WorkspaceEdit,
} from "vscode-languageserver-protocol/node";
import { tryCommand } from "../testing/try-command.ts";

/** A root, a module that it calls twice, and one below that. */
const FILES = {
  "main.tf": `module "app" {
  source   = "./app"
  for_each = toset(["x", "y"])
  name     = each.key
}
output "ids" { value = { for key, app in module.app : key => app.id } }
`,
  "app/main.tf": `variable "name" {}
module "net" {
  source = "../net"
  name   = var.name
}
resource "terraform_data" "web" { input = module.net.id }
output "id" { value = module.net.id }
`,
  "net/main.tf": `variable "name" {}
resource "terraform_data" "vpc" { input = var.name }
resource "terraform_data" "subnet" {
  count = 2
  input = terraform_data.vpc.output
}
output "id" { value = terraform_data.vpc.id }
`,
};

it("resources and modules are renamed through three modules, and the plan afterwards changes no object", {
  timeout: 60_000,
}, async () => {
  const scratch = await mkdtempDisposable(join(tmpdir(), "lsp-rename-"));
  onTestFinished(() => scratch.remove());
  const cwd = scratch.path;
  for (const [name, text] of Object.entries(FILES)) {
    await mkdir(dirname(join(cwd, name)), { recursive: true });
    await writeFile(join(cwd, name), text);
  }
  expect(await tryCommand(["up", "--auto-approve"], { cwd })).toMatchObject({ code: 0 });

  const rename = await startRenaming(cwd);
  const changed = [
    ...(await rename("net/main.tf", "vpc", "network")),
    ...(await rename("app/main.tf", "net", "fabric")),
    ...(await rename("main.tf", "app", "service")),
    ...(await rename("net/main.tf", "id", "network_id", 'output "id"')),
  ];
  expect(new Set(changed)).toEqual(new Set(Object.keys(FILES)));
  expect(await readFile(join(cwd, "main.tf"), "utf8")).toContain("in module.service :");
  expect(await readFile(join(cwd, "app/main.tf"), "utf8")).toContain("module.fabric.network_id");

  const plan = await tryCommand(["plan"], { cwd });
  expect(plan).toMatchObject({ code: 0, error: "" });
  expect(plan.output).toContain("Plan: 0 to add, 0 to change, 0 to destroy, 8 to move.");
  expect(await tryCommand(["up", "--auto-approve"], { cwd })).toMatchObject({ code: 0 });
  const after = await tryCommand(["plan", "-detailed-exitcode"], { cwd });
  expect(after).toMatchObject({ code: 0, error: "" });
});

/** A server over a folder: renames what stands at the first place of a word, writes the edits, and resolves with the files. */
async function startRenaming(folder: string) {
  const [input, output] = [new PassThrough(), new PassThrough()];
  const server = serveLanguage({ input, output, version: "0.0.0", host: {} });
  onTestFinished(() => server[Symbol.asyncDispose]());
  const connection: ProtocolConnection = createProtocolConnection(
    new StreamMessageReader(output),
    new StreamMessageWriter(input),
  );
  connection.listen();
  onTestFinished(() => connection.dispose());
  const rootUri = pathToFileURL(folder).href;
  await connection.sendRequest("initialize", {
    processId: null,
    capabilities: {},
    rootUri,
    workspaceFolders: [{ uri: rootUri, name: "test" }],
  });
  await connection.sendNotification("initialized", {});
  const versions = new Map<string, number>();
  return async (path: string, word: string, newName: string, around = `"${word}"`) => {
    const uri = pathToFileURL(join(folder, path)).href;
    const before = await readFile(join(folder, path), "utf8");
    const offset = before.indexOf(around) + around.indexOf(word);
    const lines = before.slice(0, offset).split("\n");
    if (!versions.has(uri)) {
      versions.set(uri, 1);
      await connection.sendNotification("textDocument/didOpen", {
        textDocument: { uri, languageId: "terraform", version: 1, text: before },
      });
    }
    const { changes = {} }: WorkspaceEdit = await connection.sendRequest("textDocument/rename", {
      textDocument: { uri },
      position: { line: lines.length - 1, character: lines.at(-1)?.length ?? 0 },
      newName,
    });
    const written: string[] = [];
    for (const [changed, edits] of Object.entries(changes)) {
      const file = fileURLToPath(changed);
      const text = editedText(await readFile(file, "utf8"), edits);
      await writeFile(file, text);
      written.push(file.slice(folder.length + 1));
      const version = versions.get(changed);
      if (version === undefined) {
        await connection.sendNotification("workspace/didChangeWatchedFiles", {
          changes: [{ uri: changed, type: 2 }],
        });
        continue;
      }
      versions.set(changed, version + 1);
      await connection.sendNotification("textDocument/didChange", {
        textDocument: { uri: changed, version: version + 1 },
        contentChanges: [{ text }],
      });
    }
    return written;
  };
}

function editedText(text: string, edits: readonly TextEdit[]): string {
  const starts = [0];
  for (const line of text.split("\n")) starts.push((starts.at(-1) ?? 0) + line.length + 1);
  const offset = ({ line, character }: TextEdit["range"]["start"]): number =>
    (starts[line] ?? text.length) + character;
  let result = text;
  const sorted = edits.toSorted((a, b) => offset(b.range.start) - offset(a.range.start));
  for (const { range, newText } of sorted) {
    result = result.slice(0, offset(range.start)) + newText + result.slice(offset(range.end));
  }
  return result;
}

import { mkdtempDisposable, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { expect, it } from "vitest";
import { Workspace } from "../index/workspace.ts";
import { EDIT_PIECES } from "../testing/edit-pieces.ts";
import { incomingCalls, outgoingCalls, prepareCalls } from "./call-hierarchy.ts";
import { codeActions, formatEdits } from "./code-actions.ts";
import { complete } from "./completion.ts";
import { checkFolder, problemsByFile } from "./diagnostics.ts";
import { hover } from "./hover.ts";
import { definition, documentLinks, highlights, references } from "./navigation.ts";
import { prepareRename, RenameRefused, rename } from "./rename.ts";
import { semanticTokens } from "./semantic-tokens.ts";
import { signatureHelp } from "./signature-help.ts";
import { documentSymbols, foldingRanges, selectionRange, workspaceSymbols } from "./symbols.ts";

const TEXT = `terraform {
  required_providers {
    lab = { source = "hashicorp/lab" }
  }
}
variable "size" {
  type    = object({ a = optional(string, "x") })
  default = {}
}
locals {
  all = [for k, v in { a = 1, b = 2 } : "\${k}-\${upper(v)}" if v > 1]
  doc = <<-EOT
    %{ for x in local.all }\${x}%{ endfor }
  EOT
}
provider "lab" {
  alias = "west"
}
resource "lab_server" "a" {
  for_each = toset(local.all)
  provider = lab.west
  name     = each.key
  dynamic "disk" {
    for_each = var.size
    content {
      gigabytes = disk.value
    }
  }
  lifecycle {
    ignore_changes = [name, tags["x"]]
  }
}
module "net" {
  source    = "./net"
  providers = { lab = lab.west }
}
output "o" {
  value = module.net["a"].id != null ? lab_server.a["x"].name : max(1, 2, [1, 2]...)
}
`;
/** With half of a pair, which no protocol carries. */
const PIECES = [...EDIT_PIECES, "\ud800"];

const edit = fc.record({
  at: fc.nat(),
  remove: fc.nat({ max: 40 }),
  insert: fc.constantFrom(...PIECES),
});

it("answers every request at every place of any text, and as a server that has just begun", async () => {
  await using temporary = await mkdtempDisposable(join(tmpdir(), "lang-server-"));
  const folder = temporary.path;
  const path = join(folder, "main.tf");
  await writeFile(path, TEXT);
  await fc.assert(
    fc.asyncProperty(
      fc.array(edit, { minLength: 1, maxLength: 12 }),
      fc.nat(),
      async (edits, cursor) => {
        const workspace = new Workspace();
        workspace.setRoots([folder]);
        let text = TEXT;
        for (const { at, remove, insert } of edits) {
          const start = at % (text.length + 1);
          text = text.slice(0, start) + insert + text.slice(start + remove);
          workspace.setOpen(path, text);
          everything(workspace, folder, path, cursor % (text.length + 1));
        }
        const context = { workspace, schemas: new Map() };
        const problems = problemsByFile(folder, await checkFolder(context, folder), () => text);
        const fresh = new Workspace();
        fresh.setRoots([folder]);
        fresh.setOpen(path, text);
        expect(everything(workspace, folder, path, cursor % (text.length + 1))).toEqual(
          everything(fresh, folder, path, cursor % (text.length + 1)),
        );
        const again = await checkFolder({ workspace: fresh, schemas: new Map() }, folder);
        expect(problems).toEqual(problemsByFile(folder, again, () => text));
      },
    ),
  );
});

function everything(workspace: Workspace, folder: string, path: string, offset: number) {
  const context = { workspace, schemas: new Map() };
  const world = { workspace, roots: [folder] };
  const index = workspace.index(path);
  if (index === undefined) throw new Error("the file has no index");
  const tokens = semanticTokens(index);
  expect(tokens.length % 5).toBe(0);
  for (const [at, number] of tokens.entries()) {
    if (number < 0) throw new Error(`token ${at} goes back`);
  }
  return {
    tokens,
    completion: complete(context, path, offset),
    hover: hover(context, path, offset),
    definition: definition(workspace, path, offset),
    references: references(workspace, path, offset, true),
    calls: [
      prepareCalls(world, path, offset),
      incomingCalls(world, path),
      outgoingCalls(world, path),
    ],
    highlights: highlights(workspace, path, offset),
    links: documentLinks(workspace, path, folder),
    symbols: [documentSymbols(index), workspaceSymbols(workspace, "a")],
    ranges: [foldingRanges(index), selectionRange(index, offset)],
    signature: signatureHelp(index, offset),
    actions: [0, 1, 5].map((length) =>
      codeActions(context, path, { start: offset, end: offset + length }, [], undefined),
    ),
    format: formatEdits(index.file.source.text),
    rename: tried(() => [
      prepareRename(workspace, path, offset),
      rename(workspace, [folder], path, offset, "renamed"),
    ]),
  };
}

function tried<T>(run: () => T): T | string {
  try {
    return run();
  } catch (error) {
    if (error instanceof RenameRefused) return error.message;
    throw error;
  }
}

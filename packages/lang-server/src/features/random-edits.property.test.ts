import { mkdtempDisposable, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { expect, it } from "vitest";
import type { FileNames } from "../index/file-index.ts";
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
const JSON_TEXT = `{
  "//": "local.all",
  "terraform": { "required_providers": { "lab": { "source": "hashicorp/lab" } } },
  "variable": { "size": { "type": "object({ a = string })", "default": { "a": "x" } } },
  "locals": { "all": ["\${[for k, v in { a = 1 } : \\"\${k}-\\u00e9\\" if v > 1]}"], "\\u0064oc": "\\ud83d\\ude00\\t\${local.all}" },
  "provider": { "lab": [{}, { "alias": "west" }] },
  "resource": {
    "lab_server": {
      "a": {
        "for_each": "\${toset(local.all)}",
        "provider": "lab.west",
        "dynamic": { "disk": { "for_each": "\${var.size}", "content": { "gigabytes": "\${disk.value}" } } },
        "lifecycle": { "ignore_changes": ["name"] }
      }
    }
  },
  "module": { "net": [{ "source": "./net", "providers": { "lab": "lab.west" } }] },
  "moved": { "from": "lab_server.b", "to": "lab_server.a" },
  "output": { "o": { "value": "\${module.net[\\"a\\"].id != null ? lab_server.a.name : local.doc}", "depends_on": ["lab_server.a"] } }
}
`;
const TEST_TEXT = `variables {
  size = 1
}
override_module {
  target  = module.net["a"].module.b
  outputs = { id = 2, "other" = 3 }
}
run "one" {
  module {
    source = "./net"
  }
  variables {
    size = var.size
  }
}
run "two" {
  plan_options {
    target = [module.net.lab_server.a]
  }
  assert {
    condition     = run.one.id == output.o && module.net.id == local.all
    error_message = "is \${run.one.id}"
  }
  expect_failures = [var.size, output.o]
}
`;
/** With half of a pair, which no protocol carries. */
const PIECES = [...EDIT_PIECES, "\ud800", "\\", "\\u0041", "}}", ",", ':"', "[{", "run."];

const edit = fc.record({
  at: fc.nat(),
  remove: fc.nat({ max: 40 }),
  insert: fc.constantFrom(...PIECES),
});

it.each([
  ["main.tf", TEXT],
  ["main.tf.json", JSON_TEXT],
  ["a.tftest.hcl", TEST_TEXT],
])(
  "answers every request at every place of any text in %s, and as a server that has just begun",
  {
    timeout: 120_000,
  },
  async (file, start) => {
    await using temporary = await mkdtempDisposable(join(tmpdir(), "lang-server-"));
    const folder = temporary.path;
    const path = join(folder, file);
    await writeFile(join(folder, "main.tf"), TEXT);
    await writeFile(path, start);
    await fc.assert(
      fc.asyncProperty(
        fc.array(edit, { minLength: 1, maxLength: 12 }),
        fc.nat(),
        async (edits, cursor) => {
          const workspace = new Workspace();
          workspace.setRoots([folder]);
          let text = start;
          for (const { at, remove, insert } of edits) {
            const from = at % (text.length + 1);
            text = text.slice(0, from) + insert + text.slice(from + remove);
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
  },
);

function everything(workspace: Workspace, folder: string, path: string, offset: number) {
  const context = { workspace, schemas: new Map() };
  const world = { workspace, roots: [folder] };
  const names = workspace.names(path);
  if (names === undefined) throw new Error("the file has no names");
  placesAreNames(names);
  const index = names.file && { ...names, file: names.file };
  const tokens = index === undefined ? [] : semanticTokens(index);
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
    symbols: [documentSymbols(names), workspaceSymbols(workspace, "a")],
    ranges: [foldingRanges(names), selectionRange(names, offset)],
    signature: index && signatureHelp(index, offset),
    actions: [0, 1, 5].map((length) =>
      codeActions(context, path, { start: offset, end: offset + length }, [], undefined),
    ),
    format: index && formatEdits(names.source.text),
    rename: tried(() => [
      prepareRename(workspace, path, offset),
      rename(workspace, [folder], path, offset, "renamed"),
    ]),
  };
}

/** What is at the place of a name is the name, however it is written. */
function placesAreNames({ source, occurrences }: FileNames): void {
  for (const { symbol, span } of occurrences) {
    const written = source.text.slice(span.start, span.end);
    if (written.includes("\ud800")) continue;
    const isJson = source.name.endsWith(".json");
    if (!isJson && written.includes("\\")) continue;
    const name = isJson ? (JSON.parse(`"${written}"`) as string).toWellFormed() : written;
    if (!symbol.name.endsWith(name)) throw new Error(`${symbol.name} is not at ${span.start}`);
  }
}

function tried<T>(run: () => T): T | string {
  try {
    return run();
  } catch (error) {
    if (error instanceof RenameRefused) return error.message;
    throw error;
  }
}

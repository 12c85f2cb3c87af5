import { mkdtempDisposable, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { formatFile, parseFile, parseJson, TokenKind } from "@stackwright/lang";
import { expect, it } from "vitest";
import type { TextEdit, WorkspaceEdit } from "vscode-languageserver-protocol";
import { TextDocument } from "vscode-languageserver-textdocument";
import { pathOf } from "../document/locate.ts";
import { Workspace } from "../index/workspace.ts";
import { codeActions } from "./code-actions.ts";

const TEXT = `# About the file.

terraform {
  required_providers {
    lab = { source = "hashicorp/lab" }
    pad = {
      version = "1.0.0" # pinned
      source  = "hashicorp/pad"
    }
  }
}

# The sizes.
variable "size" {
  type = object({
    # Of b.
    b = optional(string, "x")
    a = string
  })
}

locals {
  names = ["web", "db"]
  all   = { z = 1, y = [{ d = 2, c = 3 }] } # all
}

/* About a. */
resource "lab_server" "a" {
  count = 3 # three
  name  = "s-\${count.index}-ä"
  tags = {
    # Last.
    z = count.index

    b = 1, # one
    a = 2
  }
}

resource "lab_server" "b" {
  count = length(local.names)
  name  = local.names[count.index]
  peer  = lab_server.a[count.index].id
}
resource "lab_server" "c" {
  for_each = toset(local.names)
}
module "net" {
  source = "./net"
  count  = 1
  text   = <<-EOT
    # no comment \${count.index}
  EOT
}

output "o" {
  value = [lab_server.a[*].id, lab_server.b[1].id, module.net[0].id, lab_server.a[2].id]
} # end
`;

function comments(text: string): string[] {
  const { tokens, diagnostics } = parseFile({ name: "a.tf", text });
  expect(diagnostics.map(({ summary }) => summary)).toEqual([]);
  return Array.from({ length: tokens.length }, (_, at) => at)
    .filter((at) => tokens.kind(at) === TokenKind.Comment)
    .map((at) => tokens.text(at));
}

/** The texts of the files that an edit changes. */
function texts(edit: WorkspaceEdit, before: (path: string) => string): Map<string, string> {
  const all: (readonly [string, readonly TextEdit[]])[] = Object.entries(edit.changes ?? {});
  for (const each of edit.documentChanges ?? []) {
    if ("edits" in each) all.push([each.textDocument.uri, each.edits as TextEdit[]]);
  }
  return new Map(
    all.map(([uri, edits]) => {
      const path = pathOf(uri) ?? "";
      const document = TextDocument.create(uri, "", 0, before(path));
      return [path, TextDocument.applyEdits(document, [...edits])];
    }),
  );
}

it("gives files that are understood, formatted, and have all comments, wherever it is asked for", {
  timeout: 60_000,
}, async () => {
  const text = TEXT;
  await using temporary = await mkdtempDisposable(join(tmpdir(), "lang-server-"));
  const path = join(temporary.path, "main.tf");
  const outputs = join(temporary.path, "outputs.tf");
  await writeFile(path, text);
  await writeFile(outputs, "# Outputs.\n");
  await writeFile(
    join(temporary.path, ".terraform.lock.hcl"),
    ["lab", "pad"]
      .map(
        (name) => `provider "registry.terraform.io/hashicorp/${name}" {\n  version = "2.0.0"\n}\n`,
      )
      .join(""),
  );
  const workspace = new Workspace();
  workspace.setRoots([temporary.path]);
  const context = { workspace, schemas: new Map(), createsFiles: true, renamesFiles: true };
  const before = (file: string): string => workspace.text(file) ?? "";
  const seen = new Map<string, string>();
  for (let at = 0; at <= text.length; at += 5) {
    for (const length of [0, 40]) {
      const selected = { start: at, end: Math.min(text.length, at + length) };
      const kinds = ["refactor.rewrite", "refactor.move"];
      for (const { title, edit = {} } of codeActions(context, path, selected, [], kinds)) {
        const key = JSON.stringify(edit);
        if (seen.has(key)) continue;
        seen.set(key, title);
        const changed = texts(edit, before);
        const found: string[] = [];
        for (const [file, after] of changed) {
          if (file.endsWith(".json"))
            expect(parseJson({ name: "", text: after }).diagnostics).toEqual([]);
          else expect(formatFile({ name: "", text: after }).text).toBe(after);
          found.push(...comments(after));
        }
        expect(found.toSorted()).toEqual(
          [...changed.keys()].flatMap((file) => comments(before(file))).toSorted(),
        );
      }
    }
  }
  const titles = new Set([...seen.values()].map((title) => title.split(" ").slice(0, 2).join(" ")));
  expect([...titles].toSorted()).toEqual([
    "Add a",
    "Add an",
    "Convert count",
    "Move 2",
    "Move the",
    "Replace lab_server.c",
    "Require lab",
    "Require pad",
    "Sort the",
    "Split the",
  ]);
});

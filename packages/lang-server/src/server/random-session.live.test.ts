import { basename } from "node:path";
import process from "node:process";
import { expect, it } from "vitest";
import { Lines } from "../document/locate.ts";
import { EDIT_PIECES } from "../testing/edit-pieces.ts";
import { TestClient } from "../testing/test-client.ts";

// One session with an editor that is as long as a day, in the protocol: parts of the text are replaced, and each state is asked about.

const EDITS = 10_000;
/** Edits after which a server that has just begun is asked the same. */
const COMPARED = 200;
/** Edits after which the text is whole again: what is only damaged soon has nothing to say. */
const RENEWED = 50;
const SEED = Number(process.env["LANG_SERVER_SEED"] ?? 20_261_128);

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
resource "lab_server" "a" {
  for_each = toset(local.all)
  name     = each.key
  dynamic "disk" {
    for_each = var.size
    content {
      gigabytes = disk.value
    }
  }
}
module "net" {
  source = "./net"
  size   = var.size
}
output "o" {
  value = module.net.id != null ? lab_server.a["x"].name : max(1, 2)
}
`;
const FILES = { "main.tf": TEXT, "net/main.tf": 'variable "size" {}\noutput "id" { value = 1 }\n' };
const REQUESTS = [
  "textDocument/completion",
  "textDocument/hover",
  "textDocument/definition",
  "textDocument/references",
  "textDocument/documentHighlight",
  "textDocument/documentSymbol",
  "textDocument/documentLink",
  "textDocument/foldingRange",
  "textDocument/semanticTokens/full",
  "textDocument/signatureHelp",
  "textDocument/formatting",
  "textDocument/diagnostic",
  "textDocument/codeLens",
  "textDocument/codeAction",
  "textDocument/prepareCallHierarchy",
];
const CAPABILITIES = { experimental: { showReferencesCommandId: "show" } };

/** Numbers from 0 up to below a bound, the same for each seed. */
function randomOf(seed: number): (bound: number) => number {
  let state = seed;
  return (bound) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * bound);
  };
}

/** A place where an editor has a cursor: none is within the end of a line. */
function placeIn(text: string, offset: number): number {
  return text.startsWith("\r\n", offset - 1) && offset > 0 ? offset + 1 : offset;
}

/** What a server says about a place of a file, without what differs between folders and between answers. */
async function saidBy(
  client: TestClient,
  methods: readonly string[],
  offset: number,
  text: string,
) {
  const position = new Lines(text).range({ start: offset, end: offset }).start;
  const found: Record<string, unknown> = {};
  for (const method of methods) {
    const answer = await client.at<unknown>(method, {
      position,
      range: { start: position, end: position },
      context: { includeDeclaration: true, diagnostics: [] },
      options: { tabSize: 2, insertSpaces: true },
    });
    const own = JSON.stringify(answer ?? null)
      .replaceAll(client.folder, "")
      .replaceAll(basename(client.folder), "")
      .replaceAll(/"resultId":"\d+",/g, "");
    found[method] = JSON.parse(own);
  }
  return found;
}

it("ten thousand edits of a session have answers, and leave the server as one that has just begun", {
  timeout: 600_000,
}, async () => {
  const random = randomOf(SEED);
  const begin = async (text: string): Promise<TestClient> =>
    // The cursor says which file is asked about.
    TestClient.start({ ...FILES, "main.tf": `|${text}` }, {}, {}, {}, undefined, CAPABILITIES);
  await using client = await begin(TEXT);
  let text = TEXT;
  const answered = new Set<string>();
  for (let edit = 1; edit <= EDITS; edit += 1) {
    if (edit % RENEWED === 0) {
      text = TEXT;
      await client.change("main.tf", text, edit + 1);
    } else {
      const start = placeIn(text, random(text.length + 1));
      const end = placeIn(text, Math.min(text.length, start + random(30)));
      const piece = EDIT_PIECES[random(EDIT_PIECES.length)] ?? "";
      const lines = new Lines(text);
      text = text.slice(0, start) + piece + text.slice(end);
      await client.replace("main.tf", lines.range({ start, end }), piece, text, edit + 1);
    }
    const method = REQUESTS[random(REQUESTS.length)] ?? "";
    const offset = random(text.length + 1);
    const said = await saidBy(client, [method], offset, text);
    if (JSON.stringify(said[method] ?? []).length > 2) answered.add(method);
    if (edit % COMPARED !== COMPARED - 1) continue;
    await using fresh = await begin(text);
    expect(await saidBy(client, REQUESTS, offset, text), `edit ${edit} of seed ${SEED}`).toEqual(
      await saidBy(fresh, REQUESTS, offset, text),
    );
  }
  expect(client.logged).toEqual([]);
  // Each of them had something to say.
  expect([...answered].toSorted()).toEqual(REQUESTS.toSorted());
});

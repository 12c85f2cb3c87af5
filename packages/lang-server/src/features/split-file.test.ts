import { parseFile, TokenKind } from "@stackwright/lang";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { offeredActions, offeredEdits } from "../testing/offered-actions.ts";

const CREATES = {
  workspace: { workspaceEdit: { documentChanges: true, resourceOperations: ["create"] } },
};

const moves = async (texts: Readonly<Record<string, string>>, capabilities: object = CREATES) =>
  offeredActions(texts, "refactor.move", capabilities);

/** All blocks and comments of files, whichever file they are in. */
function parts(texts: readonly string[]): string[] {
  return texts
    .flatMap((text) => {
      const { body, tokens, diagnostics } = parseFile({ name: "t", text });
      expect(diagnostics).toEqual([]);
      const blocks = body.items.map(({ start, end }) => text.slice(start, end));
      const kinds = Array.from({ length: tokens.length }, (_, at) => at);
      const comments = kinds.filter((at) => tokens.kind(at) === TokenKind.Comment);
      return [...blocks, ...comments.map((at) => tokens.text(at))];
    })
    .toSorted();
}

describe("split a file", () => {
  it("moves a block with its comments to the usual file, which is made for it", async () => {
    const main = `# About the file.

# About a.
variable "«»a" {
} /* close */ # behind

locals {
}
`;
    const found = await offeredEdits({ "main.tf": main }, "refactor.move", CREATES);
    const { after, edit } = found["Move the block to variables.tf"] ?? {};
    expect(after).toEqual({
      "main.tf": "# About the file.\n\nlocals {\n}\n",
      "variables.tf": '# About a.\nvariable "a" {\n} /* close */ # behind\n',
    });
    expect(edit?.documentChanges).toMatchObject([
      { kind: "create", uri: expect.stringMatching(/variables\.tf$/) },
      { textDocument: { version: null } },
      { textDocument: { version: 1 } },
    ]);
  });

  it("adds them to a file that is there, also of a client that makes none", async () => {
    const texts = {
      "main.tf": 'locals {\n}\n«variable "a" {\n}\n\nvariable "b" {\n    type=string\n}»',
      "variables.tf": 'variable "z" {\n}\n',
    };
    expect(await moves(texts, {})).toEqual({
      "Move 2 blocks to variables.tf": {
        "main.tf": "locals {\n}\n",
        "variables.tf":
          'variable "z" {\n}\n\nvariable "a" {\n}\n\nvariable "b" {\n  type = string\n}\n',
      },
    });
    expect(await moves({ "main.tf": texts["main.tf"] }, {})).toEqual({});
  });

  it("names the file after a resource or a module", async () => {
    const main = 'module "«network" {\n}\nresource "a" "b»" {\n}\n\noutput "o" {\n}\n';
    expect(await moves({ "main.tf": main })).toEqual({
      "Move 2 blocks to network.tf": {
        "main.tf": 'output "o" {\n}\n',
        "network.tf": 'module "network" {\n}\n\nresource "a" "b" {\n}\n',
      },
    });
  });

  it("gives all kinds of blocks their usual files at once", async () => {
    const main =
      '«»terraform {\n}\n\nvariable "a" {\n}\n\nresource "a" "b" {\n}\n\n# O.\noutput "o" {\n}\n\nvariable "b" {\n}\n';
    const title = "Split the file by kinds of blocks (versions.tf, variables.tf, outputs.tf)";
    expect((await moves({ "main.tf": main, "versions.tf": "" }))[title]).toEqual({
      "main.tf": 'resource "a" "b" {\n}\n',
      "outputs.tf": '# O.\noutput "o" {\n}\n',
      "variables.tf": 'variable "a" {\n}\n\nvariable "b" {\n}\n',
      "versions.tf": "terraform {\n}\n",
    });
  });

  it("keeps every block and comment, as it was", async () => {
    const piece = fc.constantFrom(
      "# Alone.\n",
      '# A.\n# B.\nvariable "NAME" {\n  type = string # why\n}\n',
      'output "NAME" {\n  value = <<EOT\n\n# text\n\nEOT\n}\n',
      "/* one\n\n   two */\nlocals {\n  NAME = 1\n}\n",
      'provider "p" {} // behind\n',
      'resource "t" "NAME" {\n}\n',
      'variable "NAME" {} /* behind\n   it */ # and it\n',
      "// About\n\nterraform {\n  # inside\n}\n",
    );
    const file = fc.array(fc.tuple(piece, fc.constantFrom("", "\n", "\n\n", "  \n")), {
      minLength: 1,
      maxLength: 8,
    });
    await fc.assert(
      fc.asyncProperty(file, fc.boolean(), async (pieces, ends) => {
        const text = pieces.map(([each, gap], at) => each.replace("NAME", `n${at}`) + gap).join("");
        const main = ends ? text : text.trimEnd();
        const before = { "main.tf": `«${main}»`, "outputs.tf": "# Last." };
        for (const after of Object.values(await moves(before))) {
          const texts = { "outputs.tf": "# Last.", ...after };
          expect(parts(Object.values(texts))).toEqual(parts([main, "# Last."]));
          // Blocks that go leave no empty lines.
          const isLoose = /\n[ \t]*\n[ \t]*\n/;
          expect(isLoose.test(after["main.tf"] ?? "") && !isLoose.test(main)).toBe(false);
        }
      }),
      { numRuns: 40 },
    );
  });

  it.for([
    ["the file overrides others", { "override.tf": 'variable "«»a" {\n}\n' }],
    ["the text has mistakes", { "main.tf": 'variable "«»a" {\n  type =\n}\n' }],
    ["it is there already", { "variables.tf": 'variable "«»a" {\n}\n' }],
    ["the target has mistakes", { "main.tf": 'variable "«»a" {\n}\n', "variables.tf": "x = \n" }],
    ["the target would not count", { "main.tf": 'variable "«»a" {\n}\n', "variables.tofu": "" }],
  ] as const)("is not offered where %s", async ([, texts]) => {
    expect(await moves(texts)).toEqual({});
  });
});

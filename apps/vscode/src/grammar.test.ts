import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { join } from "node:path";
import { beforeAll, expect, it } from "vitest";
import oniguruma from "vscode-oniguruma";
import textmate, { type IGrammar } from "vscode-textmate";

const GRAMMAR = join(import.meta.dirname, "../syntaxes/terraform.tmLanguage.json");

let grammar: IGrammar;
beforeAll(async () => {
  const wasm = createRequire(import.meta.url).resolve("vscode-oniguruma/release/onig.wasm");
  await oniguruma.loadWASM(new Uint8Array(await readFile(wasm)).buffer);
  const registry = new textmate.Registry({
    onigLib: Promise.resolve({
      createOnigScanner: (patterns) => new oniguruma.OnigScanner(patterns),
      createOnigString: (text) => new oniguruma.OnigString(text),
    }),
    loadGrammar: async () => textmate.parseRawGrammar(await readFile(GRAMMAR, "utf8"), GRAMMAR),
  });
  const loaded = await registry.loadGrammar("source.terraform");
  if (loaded === null) throw new Error("the grammar is not there");
  grammar = loaded;
});

/** The innermost scope of each piece of a text that has a scope of its own. */
function scopesOf(text: string): [string, string][] {
  let stack = textmate.INITIAL;
  return text.split("\n").flatMap((line) => {
    const result = grammar.tokenizeLine(line, stack);
    stack = result.ruleStack;
    return result.tokens.flatMap(({ startIndex, endIndex, scopes }): [string, string][] => {
      const scope = scopes.at(-1)?.replace(/\.terraform$/, "") ?? "";
      const piece = line.slice(startIndex, endIndex).trim();
      return piece === "" || scope === "source" ? [] : [[piece, scope]];
    });
  });
}

it("tells blocks, labels, attributes, values and references apart", () => {
  const scopes = scopesOf(
    'resource "aws_instance" "web" { # a\n  count = var.n > 1 ? 2 : null\n  name  = upper("a-${local.x}")\n  tags = {\n    a = true\n  }\n}\noutput "o" {}',
  );
  expect(scopes).toEqual(
    expect.arrayContaining([
      ["resource", "entity.name.type"],
      ['"aws_instance"', "string.quoted.double.label"],
      ["# a", "comment.line.number-sign"],
      ["count", "variable.declaration"],
      ["var", "variable.language"],
      ["null", "constant.language"],
      ["upper", "support.function"],
      ["${", "punctuation.section.interpolation.begin"],
      ["local", "variable.language"],
      ["true", "constant.language"],
      ["output", "entity.name.type"],
    ]),
  );
});

it("ends a string, a comment and a heredoc where the language ends them", () => {
  const scopes = scopesOf('a = <<-EOT\n  text "${b}"\n  EOT\n/* c\n d */ e = "f\\"g"\nh = 1');
  expect(scopes).toContainEqual(["h", "variable.declaration"]);
  expect(scopes).toContainEqual(["1", "constant.numeric"]);
  expect(scopes).toContainEqual(['\\"', "constant.character.escape"]);
  expect(scopes).toContainEqual(["d", "comment.block"]);
});

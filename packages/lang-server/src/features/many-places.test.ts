import { expect, it } from "vitest";
import type { Location, SemanticTokens } from "vscode-languageserver-protocol";
import { offeredActions } from "../testing/offered-actions.ts";
import { TestClient } from "../testing/test-client.ts";

// Where each place takes as long as the file is long, these take minutes.
const IN_TIME = { timeout: 20_000 };
const COUNT = 20_000;
const ONE_LINE = `locals {\n  x|x = [${Array.from({ length: COUNT }, () => "local.xx").join(", ")}]\n}\n`;

it("converts a count that many blocks beside each other use", IN_TIME, async () => {
  const uses = Array.from({ length: 2000 }, (_, at) => `output "o${at}" {\n  value = a.b[0]\n}\n`);
  const main = `resource "a" «»"b" {\n  count = 1\n}\n\n${uses.join("")}`;
  const found = await offeredActions({ "main.tf": main }, "refactor.rewrite");
  const after = found["Convert count of a.b to for_each"]?.["main.tf"] ?? "";
  expect(after.split('a.b["0"]')).toHaveLength(2000 + 2);
});

it("finds many references in one line", IN_TIME, async () => {
  await using client = await TestClient.start({ "main.tf": ONE_LINE });
  const found = await client.at<Location[]>("textDocument/references", {
    context: { includeDeclaration: false },
  });
  expect(found).toHaveLength(COUNT);
});

it("finds many references over calls in many files", { timeout: 10_000 }, async () => {
  const names = Array.from({ length: 100 }, (_, at) => `f${at}`);
  const uses = Array.from(
    { length: 60 },
    (_, at) => `output "o${at}" {\n  value = module.m.x\n}\n`,
  );
  const files = names.map((name) => [`${name}.tf`, uses.join("").replaceAll('"o', `"${name}_`)]);
  await using client = await TestClient.start({
    "m/main.tf": 'output "|x" {\n  value = 1\n}\n',
    "z.tf": 'module "m" {\n  source = "./m"\n}\n',
    ...Object.fromEntries(files),
  });
  const found = await client.at<Location[]>("textDocument/references", {
    context: { includeDeclaration: false },
  });
  expect(found).toHaveLength(100 * 60);
});

it("counts many tokens of one line in bytes", IN_TIME, async () => {
  const general = { positionEncodings: ["utf-8"] };
  await using client = await TestClient.start({ "main.tf": ONE_LINE }, {}, {}, {}, undefined, {
    general,
  });
  const { data } = await client.at<SemanticTokens>("textDocument/semanticTokens/full");
  expect(data.length).toBeGreaterThan(5 * COUNT);
});

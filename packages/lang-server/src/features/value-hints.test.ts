import { expect, it } from "vitest";
import { TestClient } from "../testing/test-client.ts";

interface Hint {
  readonly label: string;
  readonly position: { readonly line: number; readonly character: number };
}

const MAIN = `locals {
  region = "eu-1"
  sizes  = [1, 2]
  long   = "${"x".repeat(60)}"
  own    = var.size
}
resource "lab_server" "a" {
  count = 3
  name  = "\${local.region}-\${var.size}-\${local.long}"
  tags  = [local.own, local.sizes, var.any, module.net.zone]
}
module "net" {
  source   = "./net"
  for_each = toset(["a", "b", "a"])
  size     = 1
}
data "lab_zone" "z" {
  for_each = { one = 1, two = 2 }
}
resource "lab_server" "b" {
  count = var.size
}
`;
const TEXTS = {
  "main.tf": MAIN,
  "variables.tf": 'variable "size" {\n  type = number\n}\nvariable "any" {}\n',
  "net/main.tf": 'variable "size" {\n  type = string\n}\noutput "zone" {\n  value = 1\n}\n',
};

async function hintsOf(options: object, end = { line: 99, character: 0 }): Promise<string[]> {
  await using client = await TestClient.start(TEXTS, {}, {}, options);
  const hints = await client.connection.sendRequest<Hint[]>("textDocument/inlayHint", {
    textDocument: { uri: client.uri("main.tf") },
    range: { start: { line: 0, character: 0 }, end },
  });
  return hints.map(({ label, position }) => `${position.line}:${position.character} ${label}`);
}

it("says what names stand for, and how many instances a block has", async () => {
  expect((await hintsOf({ valueHints: true })).toSorted()).toEqual(
    [
      "4:19 : number",
      '8:25  = "eu-1"',
      "8:37 : number",
      "9:33  = [1, 2]",
      "20:18 : number",
      "6:25 ×3",
      "11:12 ×2",
      "16:19 ×2",
    ].toSorted(),
  );
});

it("is asked for, and for the lines that are shown", async () => {
  expect(await hintsOf({})).toEqual([]);
  expect(await hintsOf({ valueHints: "yes" })).toEqual([]);
  expect(await hintsOf({ valueHints: true }, { line: 5, character: 0 })).toEqual(["4:19 : number"]);
});

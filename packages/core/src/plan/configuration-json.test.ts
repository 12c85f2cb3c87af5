import { Type } from "@stackwright/cty";
import { EMPTY_BUNDLE } from "@stackwright/lang";
import type { AttributeSchema, BlockSchema } from "@stackwright/mux/router";
import { compactJson } from "@stackwright/tfstate";
import { expect, it } from "vitest";
import { loadConfiguration } from "../configuration/configuration.ts";
import { configurationNode } from "./configuration-json.ts";

const ANY: AttributeSchema = {
  type: Type.dynamic,
  required: false,
  optional: true,
  computed: false,
  sensitive: false,
  writeOnly: false,
  deprecated: false,
  description: "",
};
const block = (
  attributes: readonly string[],
  blocks: BlockSchema["blocks"] = new Map(),
): BlockSchema => ({
  attributes: new Map(attributes.map((name) => [name, ANY])),
  blocks,
  deprecated: false,
  description: "",
});
const rule = block(["port"]);
const SCHEMA = block(
  ["input"],
  new Map([
    ["rule", { nesting: "list", block: rule, minItems: 0, maxItems: 0 }],
    ["one", { nesting: "single", block: rule, minItems: 0, maxItems: 0 }],
    ["by", { nesting: "map", block: rule, minItems: 0, maxItems: 0 }],
  ]),
);

async function describeText(text: string, schema: BlockSchema | undefined) {
  const configuration = await loadConfiguration({
    ...EMPTY_BUNDLE,
    names: () => ["main.tf"],
    read: () => new TextEncoder().encode(text),
  });
  const node = configurationNode(configuration, {
    provider: () => schema,
    resource: () => schema && { version: 3, block: schema },
  });
  return JSON.parse(compactJson(node)) as unknown;
}

it("has constants, and references down to what they are about", async () => {
  const described = await describeText(
    `
    variable "v" { default = { a = [1] } }
    resource "terraform_data" "a" {
      count = 2
      input = [var.v.a[0], terraform_data.b["k"].output.x, local.l, 1 + 1]
    }
    resource "terraform_data" "b" {
      for_each   = toset(["k"])
      input      = { n = 1.50, s = "a\${"b"}" }
      depends_on = [data.x_y.z]
    }
    locals { l = 1 }
  `,
    SCHEMA,
  );
  expect(described).toMatchObject({
    root_module: {
      resources: [
        {
          address: "terraform_data.a",
          schema_version: 3,
          count_expression: { constant_value: 2 },
          expressions: {
            input: {
              references: [
                "var.v.a[0]",
                "var.v.a",
                "var.v",
                'terraform_data.b["k"].output.x',
                'terraform_data.b["k"].output',
                'terraform_data.b["k"]',
                "terraform_data.b",
                "local.l",
              ],
            },
          },
        },
        {
          address: "terraform_data.b",
          expressions: { input: { constant_value: { n: 1.5, s: "ab" } } },
          depends_on: ["data.x_y.z"],
        },
      ],
      variables: { v: { default: { a: [1] } } },
    },
  });
});

it("has blocks as their nesting says, and not what dynamic ones stand for", async () => {
  const described = await describeText(
    `
    resource "terraform_data" "a" {
      rule { port = 1 }
      rule { port = var.p }
      dynamic "rule" {
        for_each = [3]
        content { port = rule.value }
      }
      one { port = 2 }
      by "x" { port = 3 }
    }
    variable "p" {}
  `,
    SCHEMA,
  );
  expect(described).toMatchObject({
    root_module: {
      resources: [
        {
          expressions: {
            rule: [{ port: { constant_value: 1 } }, { port: { references: ["var.p"] } }],
            one: { port: { constant_value: 2 } },
            by: { x: { port: { constant_value: 3 } } },
          },
        },
      ],
      variables: { p: {} },
    },
  });
});

it("leaves out arguments of blocks without a schema", async () => {
  const described = await describeText('resource "terraform_data" "a" { input = 1 }', undefined);
  expect(described).toEqual({
    provider_config: {
      terraform: { name: "terraform", full_name: "terraform.io/builtin/terraform" },
    },
    root_module: {
      resources: [
        {
          address: "terraform_data.a",
          mode: "managed",
          type: "terraform_data",
          name: "a",
          provider_config_key: "terraform",
          schema_version: 0,
        },
      ],
    },
  });
});

import { describe, expect } from "vitest";
import { scenario } from "./scenario.ts";

const providers = (keys: string): string => `# of mock_thing
locals { all = toset(${keys}) }
provider "mock" {
  alias    = "by"
  for_each = local.all
  token    = "t-\${each.key}"
}
`;
const things = (keys: string, name = "a"): string => `resource "mock_thing" "${name}" {
  for_each = toset(${keys})
  provider = mock.by[each.key]
  name     = each.key
}
`;
const WARNED = `resource "mock_thing" "other" {
  provider = mock.by["x"]
  name     = "other"
}
`;

describe("instances of a provider configuration", () => {
  scenario("each configure a provider, and the key of a reference chooses one", [
    {
      config: providers('["x", "y"]') + things('["x", "y"]') + WARNED,
      plan: ['create mock_thing.a["x"]', 'create mock_thing.a["y"]', "create mock_thing.other"],
      check: ({ changes }) => {
        expect(changes.map(({ provider }) => provider.alias).toSorted()).toEqual([
          'by["x"]',
          'by["x"]',
          'by["y"]',
        ]);
      },
      after: (cloud) => {
        expect([...new Set(cloud.configured)].toSorted()).toEqual(["t-x", "t-y"]);
      },
    },
    {
      config: providers('["x", "y"]') + things('["y"]'),
      plan: [
        'delete mock_thing.a["x"] delete-because-each-key',
        "delete mock_thing.other delete-because-no-resource-config",
      ],
      sorted: true,
      calls: ["delete other", "delete x"],
      state: ['mock_thing.a["y"]'],
    },
    { config: "", errors: ["Provider configuration not present"] },
  ]);

  scenario("must outlive their objects", [
    { config: providers('["x", "y"]') + things('["x", "y"]') },
    { config: providers('["x"]') + things('["x"]'), errors: ["Provider instance not present"] },
    {
      config: providers('["x"]'),
      options: { mode: "destroy" },
      errors: ["Provider instance not present"],
    },
    {
      config: providers('["x", "y"]'),
      options: { mode: "destroy" },
      state: [],
    },
  ]);

  scenario(
    "cannot take over the objects of a configuration without them once their block is gone",
    [
      {
        config: `provider "mock" {
  alias = "by"
}
resource "mock_thing" "a" {
  provider = mock.by
  name     = "a"
}
`,
      },
      { config: providers('["x"]'), errors: ["Provider instance not present"] },
      {
        // As long as the object is declared, its new configuration is known.
        config: `${providers('["x"]')}resource "mock_thing" "a" {
  provider = mock.by["x"]
  name     = "a"
}
`,
        plan: [],
        state: ["mock_thing.a"],
      },
    ],
  );

  const CALLED = `terraform {
  required_providers {
    mock = {
      source                = "test.local/conf/mock"
      configuration_aliases = [mock.inner]
    }
  }
}
variable "name" {}
data "mock_look" "d" {
  provider = mock.inner
  query    = var.name
}
resource "mock_thing" "a" {
  provider = mock.inner
  name     = var.name
}
module "deep" {
  source    = "../deep"
  name      = "deep-\${var.name}"
  providers = { mock = mock.inner }
}
`;
  const DEEP = `variable "name" {}
resource "mock_thing" "b" {
  name = var.name
}
`;
  scenario("are passed to modules by a key of the call", [
    {
      config: {
        "main.tf": `${providers('["x", "y", "z"]')}
module "m" {
  source    = "./m"
  for_each  = { one = "x", two = "y" }
  name      = each.key
  providers = { mock.inner = mock.by[each.value] }
}
`,
        "m/main.tf": CALLED,
        "deep/main.tf": DEEP,
      },
      check: ({ changes }) => {
        expect(
          changes.map(({ address, provider }) => `${address} ${provider.alias}`).toSorted(),
        ).toEqual([
          'module.m["one"].data.mock_look.d by["x"]',
          'module.m["one"].mock_thing.a by["x"]',
          'module.m["one"].module.deep.mock_thing.b by["x"]',
          'module.m["two"].data.mock_look.d by["y"]',
          'module.m["two"].mock_thing.a by["y"]',
          'module.m["two"].module.deep.mock_thing.b by["y"]',
        ]);
      },
    },
  ]);

  scenario("are chosen by what is known while planning, and by nothing else", [
    {
      config: `${providers('["1"]')}
resource "mock_thing" "first" {
  provider = mock.by["1"]
  name     = "first"
}
resource "mock_thing" "a" {
  provider = mock.by[mock_thing.first.id]
  name     = "a"
}
`,
      errors: ["Invalid provider instance key"],
    },
    {
      config: `${providers('["1"]')}
resource "mock_thing" "a" {
  count    = 1
  provider = mock.by[sensitive("1")]
  name     = "a"
}
`,
      errors: ["Invalid provider instance key"],
    },
    { config: providers('["1"]') + things('["2"]'), errors: ["Provider instance not present"] },
    {
      // A number is a key by its text.
      config: `${providers('["0"]')}
resource "mock_thing" "a" {
  count    = 1
  provider = mock.by[count.index]
  name     = "a"
}
`,
      plan: ["create mock_thing.a[0]"],
    },
  ]);
});

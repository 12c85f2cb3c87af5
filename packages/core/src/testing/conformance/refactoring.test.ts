import { Value } from "@stackwright/cty";
import { describe, expect } from "vitest";
import { scenario } from "./scenario.ts";

const thing = (name: string, body = ""): string =>
  `resource "mock_thing" "${name}" {\n  name = "${name}"\n${body}\n}\n`;
const named = (label: string, name: string, body = ""): string =>
  `resource "mock_thing" "${label}" {\n  name = "${name}"\n${body}\n}\n`;
const moved = (from: string, to: string): string => `moved {\n  from = ${from}\n  to = ${to}\n}\n`;

describe("moved", () => {
  scenario("renames without a call", [
    { config: thing("a") },
    {
      config: named("b", "a") + moved("mock_thing.a", "mock_thing.b"),
      plan: ["no-op mock_thing.b was mock_thing.a"],
      calls: [],
      state: ["mock_thing.b"],
    },
  ]);
  const instances = (name: string): string =>
    `resource "mock_thing" "${name}" {\n  for_each = toset(["x", "y"])\n  name = each.key\n}\n`;
  const renamed = instances("b") + moved("mock_thing.a", "mock_thing.b");
  scenario("is recorded by a partial plan for what it leaves out, which the next plan finds", [
    { config: instances("a") },
    {
      config: renamed,
      options: { targets: ['mock_thing.b["x"]'] },
      check: ({ moves }) =>
        expect(moves).toEqual([{ from: 'mock_thing.a["y"]', to: 'mock_thing.b["y"]' }]),
      calls: [],
      state: ['mock_thing.b["x"]', 'mock_thing.b["y"]'],
    },
    { config: renamed, plan: [], calls: [] },
  ]);
  scenario("takes along an object whose dependency was deleted and not made again", [
    { config: thing("v", 'zone = "1"') + thing("a", "value = mock_thing.v.id") },
    {
      config: thing("v", 'zone = "2"\nfail = "create"') + thing("a", "value = mock_thing.v.id"),
      status: "partially_applied",
      state: ["mock_thing.a", "mock_thing.v (creating)"],
    },
    {
      config:
        thing("v", 'zone = "2"') +
        named("b", "a", "value = mock_thing.v.id") +
        moved("mock_thing.a", "mock_thing.b"),
      calls: ["create v", "update a"],
      state: ["mock_thing.b", "mock_thing.v"],
    },
  ]);
  scenario("follows a chain", [
    { config: thing("a") },
    {
      config:
        named("c", "a") +
        moved("mock_thing.a", "mock_thing.b") +
        moved("mock_thing.b", "mock_thing.c"),
      plan: ["no-op mock_thing.c was mock_thing.a"],
      calls: [],
      state: ["mock_thing.c"],
    },
  ]);
  scenario("moves and changes at once", [
    { config: thing("a", 'value = "1"') },
    {
      config: named("b", "a", 'value = "2"') + moved("mock_thing.a", "mock_thing.b"),
      plan: ["update mock_thing.b was mock_thing.a"],
      calls: ["update a"],
      state: ["mock_thing.b"],
    },
  ]);
  scenario("moves and replaces at once", [
    { config: thing("a", 'zone = "1"') },
    {
      config: named("b", "a", 'zone = "2"') + moved("mock_thing.a", "mock_thing.b"),
      plan: ["replace mock_thing.b was mock_thing.a replace-because-cannot-update"],
      calls: ["delete a", "create a"],
      state: ["mock_thing.b"],
    },
  ]);
  scenario("moves into a module", [
    { config: thing("a") },
    {
      config: {
        "main.tf": `module "m" { source = "./m" }\n${moved("mock_thing.a", "module.m.mock_thing.a")}`,
        "m/main.tf": thing("a"),
      },
      plan: ["no-op module.m.mock_thing.a was mock_thing.a"],
      calls: [],
      state: ["module.m.mock_thing.a"],
    },
  ]);
  scenario("moves a whole module", [
    {
      config: {
        "main.tf": 'module "m" { source = "./m" }\n',
        "m/main.tf": thing("a") + thing("b"),
      },
    },
    {
      config: {
        "main.tf": `module "n" { source = "./m" }\n${moved("module.m", "module.n")}`,
        "m/main.tf": thing("a") + thing("b"),
      },
      plan: [
        "no-op module.n.mock_thing.a was module.m.mock_thing.a",
        "no-op module.n.mock_thing.b was module.m.mock_thing.b",
      ],
      calls: [],
    },
  ]);
  scenario("takes the first instance for what got a count", [
    { config: thing("a") },
    {
      config: thing("a", "count = 2"),
      plan: ["create mock_thing.a[1]", "no-op mock_thing.a[0] was mock_thing.a"],
      calls: ["create a"],
    },
  ]);
  scenario("takes what lost its count for the first instance", [
    { config: thing("a", "count = 2") },
    {
      config: thing("a"),
      plan: [
        "delete mock_thing.a[1] delete-because-wrong-repetition",
        "no-op mock_thing.a was mock_thing.a[0]",
      ],
      calls: ["delete a"],
      state: ["mock_thing.a"],
    },
  ]);
  scenario("moves an instance to a key", [
    { config: thing("a", "count = 1") },
    {
      config:
        'resource "mock_thing" "a" {\n  for_each = toset(["x"])\n  name = "a"\n}\n' +
        moved("mock_thing.a[0]", 'mock_thing.a["x"]'),
      plan: ['no-op mock_thing.a["x"] was mock_thing.a[0]'],
      calls: [],
    },
  ]);
  scenario("keeps dependents in their place", [
    { config: thing("a") + thing("b", "value = mock_thing.a.id") },
    {
      config:
        named("z", "a") +
        thing("b", "value = mock_thing.z.id") +
        moved("mock_thing.a", "mock_thing.z"),
      plan: ["no-op mock_thing.z was mock_thing.a"],
      calls: [],
    },
    { config: "", calls: ["delete b", "delete a"], state: [] },
  ]);
  scenario("stays where its destination is taken", [
    { config: thing("a") + thing("b") },
    {
      config: thing("b") + moved("mock_thing.a", "mock_thing.b"),
      plan: ["delete mock_thing.a delete-because-no-resource-config"],
      calls: ["delete a"],
      state: ["mock_thing.b"],
    },
  ]);
  scenario("refuses to move away what is still declared", [
    { config: thing("a") },
    {
      config: thing("a") + named("b", "a") + moved("mock_thing.a", "mock_thing.b"),
      errors: ["Moved object still exists"],
    },
  ]);
  scenario("does nothing for what was never there", [
    {
      config: thing("b") + moved("mock_thing.a", "mock_thing.b"),
      plan: ["create mock_thing.b"],
      calls: ["create b"],
    },
  ]);
  scenario("turns an object into one of another type where the provider can", [
    { config: thing("a") },
    {
      config: `resource "mock_other" "a" {\n  name = "a"\n}\n${moved("mock_thing.a", "mock_other.a")}`,
      plan: ["no-op mock_other.a was mock_thing.a"],
      calls: [],
      state: ["mock_other.a"],
    },
  ]);
  scenario("is refused for another type where the provider cannot", [
    {
      config: thing("a"),
      before: (cloud) => {
        cloud.moves = false;
      },
    },
    {
      config: `resource "mock_other" "a" {\n  name = "a"\n}\n${moved("mock_thing.a", "mock_other.a")}`,
      errors: ["Unsupported move across resource types"],
    },
  ]);
});

describe("removed", () => {
  const forget = (from: string, destroy: boolean): string =>
    `removed {\n  from = ${from}\n  lifecycle {\n    destroy = ${destroy}\n  }\n}\n`;
  scenario("gives up without a call", [
    { config: thing("a") + thing("b") },
    {
      config: thing("b") + forget("mock_thing.a", false),
      plan: ["forget mock_thing.a delete-because-no-resource-config"],
      calls: [],
      state: ["mock_thing.b"],
    },
  ]);
  scenario("destroys where it is said so", [
    { config: thing("a") },
    {
      config: forget("mock_thing.a", true),
      plan: ["delete mock_thing.a delete-because-no-resource-config"],
      calls: ["delete a"],
    },
  ]);
  scenario("gives up a whole module", [
    {
      config: {
        "main.tf": 'module "m" { source = "./m" }\n',
        "m/main.tf": thing("a") + thing("b", "value = mock_thing.a.id"),
      },
    },
    { config: forget("module.m", false), calls: [], state: [] },
  ]);
  scenario("gives up all instances", [
    { config: thing("a", "count = 2") },
    { config: forget("mock_thing.a", false), calls: [], state: [] },
  ]);
  scenario("refuses what is still declared", [
    { config: thing("a") },
    {
      config: thing("a") + forget("mock_thing.a", false),
      errors: ["Removed resource still exists"],
    },
  ]);
});

describe("import", () => {
  const imports = (to: string, id: string): string => `import {\n  to = ${to}\n  id = "${id}"\n}\n`;
  /** Makes objects that nobody knows of. */
  const stray = (name: string) => [
    { config: thing(name, 'value = "1"') },
    {
      config: `removed {\n  from = mock_thing.${name}\n  lifecycle {\n    destroy = false\n  }\n}\n`,
    },
  ];
  scenario("takes over what exists and is as configured", [
    ...stray("a"),
    {
      config: thing("a", 'value = "1"') + imports("mock_thing.a", "id-1"),
      plan: ["no-op mock_thing.a import id-1"],
      calls: [],
      state: ["mock_thing.a"],
    },
  ]);
  scenario("takes over and changes", [
    ...stray("a"),
    {
      config: thing("a", 'value = "2"') + imports("mock_thing.a", "id-1"),
      plan: ["update mock_thing.a import id-1"],
      calls: ["update a"],
      state: ["mock_thing.a"],
    },
  ]);
  scenario("takes over and replaces", [
    ...stray("a"),
    {
      config: thing("a", 'value = "1"\nzone = "2"') + imports("mock_thing.a", "id-1"),
      plan: ["replace mock_thing.a import id-1 replace-because-cannot-update"],
      calls: ["delete a", "create a"],
      state: ["mock_thing.a"],
    },
  ]);
  scenario("does nothing later", [
    ...stray("a"),
    { config: thing("a", 'value = "1"') + imports("mock_thing.a", "id-1") },
    {
      config: thing("a", 'value = "1"') + imports("mock_thing.a", "id-1"),
      plan: [],
      calls: [],
      planCalls: [],
    },
  ]);
  scenario("refuses what does not exist", [
    {
      config: thing("a") + imports("mock_thing.a", "id-9"),
      errors: ["Cannot import non-existent remote object"],
    },
  ]);
  scenario("refuses what has no configuration", [
    {
      config: thing("b") + imports("mock_thing.a", "id-1"),
      errors: ["Configuration for import target does not exist"],
    },
  ]);
  scenario("refuses an instance that is none", [
    {
      config: thing("a", "count = 1") + imports("mock_thing.a[3]", "id-1"),
      errors: ["Configuration for import target does not exist"],
    },
  ]);
  scenario("refuses one target twice", [
    {
      config: thing("a") + imports("mock_thing.a", "id-1") + imports("mock_thing.a", "id-2"),
      errors: ["Duplicate import configuration", "Cannot import non-existent remote object"],
    },
  ]);
  scenario("takes over into an instance", [
    ...stray("a"),
    {
      config: thing("a", 'count = 1\nvalue = "1"') + imports("mock_thing.a[0]", "id-1"),
      plan: ["no-op mock_thing.a[0] import id-1"],
      calls: [],
    },
  ]);
  scenario("takes over several by for_each", [
    { config: thing("a") + thing("b") },
    {
      config:
        "removed {\n  from = mock_thing.a\n  lifecycle {\n    destroy = false\n  }\n}\nremoved {\n  from = mock_thing.b\n  lifecycle {\n    destroy = false\n  }\n}\n",
    },
    {
      config:
        'locals {\n  ids = { a = "id-1", b = "id-2" }\n}\nresource "mock_thing" "t" {\n  for_each = local.ids\n  name = each.key\n}\n' +
        "import {\n  for_each = local.ids\n  to = mock_thing.t[each.key]\n  id = each.value\n}\n",
      plan: ['no-op mock_thing.t["a"] import id-1', 'no-op mock_thing.t["b"] import id-2'],
      calls: [],
    },
  ]);
  scenario("works out the id from other values", [
    ...stray("a"),
    {
      config: `variable "n" { default = 1 }\n${thing("a", 'value = "1"')}${imports("mock_thing.a", "id-${var.n}")}`,
      plan: ["no-op mock_thing.a import id-1"],
    },
  ]);
  scenario("shows dependents what was found", [
    ...stray("a"),
    {
      config: `${thing("a", 'value = "1"')}${imports("mock_thing.a", "id-1")}${thing("b", "value = mock_thing.a.id")}output "o" { value = mock_thing.b.value }`,
      calls: ["create b"],
      outputs: { o: '"id-1"' },
    },
  ]);
  scenario("sees what was changed since it was made", [
    ...stray("a"),
    {
      config: thing("a", 'value = "1"') + imports("mock_thing.a", "id-1"),
      before: (cloud) => cloud.drift("a", { value: Value.string("9") }),
      plan: ["update mock_thing.a import id-1"],
    },
  ]);
});

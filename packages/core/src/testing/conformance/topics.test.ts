import { Value } from "@stackwright/cty";
import { describe } from "vitest";
import { scenario } from "./scenario.ts";

const thing = (name: string, body = ""): string =>
  `resource "mock_thing" "${name}" {\n  name = "${name}"\n${body}\n}\n`;
const look = (name: string, query: string, body = ""): string =>
  `data "mock_look" "${name}" {\n  query = ${query}\n${body}\n}\n`;

describe("data sources that wait", () => {
  scenario("for one that waits", [
    {
      config:
        thing("a") +
        look("x", "mock_thing.a.id") +
        look("y", "data.mock_look.x.result") +
        thing("b", "value = data.mock_look.y.result"),
      plan: [
        "create mock_thing.a",
        "create mock_thing.b",
        "read data.mock_look.x read-because-config-unknown",
        "read data.mock_look.y read-because-config-unknown",
      ],
      planCalls: [],
      calls: ["create a", "look id-1", "look found id-1", "create b"],
    },
  ]);
  scenario("for any change of a resource that they refer to directly, in all instances", [
    {
      config:
        thing("a") +
        'data "mock_look" "x" {\n  count = 2\n  query = count.index == 0 ? "now" : mock_thing.a.id\n}\n',
      plan: [
        "create mock_thing.a",
        "read data.mock_look.x[0] read-because-dependency-pending",
        "read data.mock_look.x[1] read-because-config-unknown",
      ],
      planCalls: [],
    },
  ]);
  scenario("for a change of another attribute, as that may change what is read", [
    { config: thing("a", 'value = "1"') + look("x", "mock_thing.a.name") },
    {
      config: thing("a", 'value = "2"') + look("x", "mock_thing.a.name"),
      plan: ["read data.mock_look.x read-because-dependency-pending", "update mock_thing.a"],
      planCalls: [],
      calls: ["update a", "look a"],
    },
    { config: thing("a", 'value = "2"') + look("x", "mock_thing.a.name"), plan: [] },
  ]);
  const through = "locals { n = mock_thing.a.name }\n";
  scenario("not for what only changes elsewhere, behind a local value", [
    { config: through + thing("a", 'value = "1"') + look("x", "local.n") },
    {
      config: through + thing("a", 'value = "2"') + look("x", "local.n"),
      plan: ["update mock_thing.a"],
      planCalls: ["look a"],
    },
  ]);
  const condition =
    'lifecycle {\n  postcondition {\n    condition = self.result != ""\n    error_message = "no"\n  }\n}';
  scenario("for everything that they depend on, where they have conditions", [
    { config: through + thing("a", 'value = "1"') + look("x", "local.n", condition) },
    {
      config: through + thing("a", 'value = "2"') + look("x", "local.n", condition),
      plan: ["read data.mock_look.x read-because-dependency-pending", "update mock_thing.a"],
      planCalls: [],
    },
  ]);
  // Steps with a long way behind them are first, where nothing holds them back.
  const behind =
    thing("r", "value = data.mock_look.x.result") +
    thing("s", "value = mock_thing.r.out") +
    thing("t", "value = mock_thing.s.out");
  const many = (value: string): string =>
    `${look("x", "mock_thing.a[0].name")}${thing("a", `count = 2\nvalue = count.index == 1 ? "${value}" : "0"`)}${behind}`;
  scenario("in the apply too, for another instance of what they refer to", [
    { config: many("1") },
    { config: many("2"), calls: ["update a", "look a"] },
  ]);
  const far = (value: string): string =>
    `${look("x", "mock_thing.b.name", condition)}${thing("b", "depends_on = [mock_thing.a]")}${thing("a", `value = "${value}"`)}${behind}`;
  scenario("in the apply too, for a change behind what stays as it is", [
    { config: far("1") },
    { config: far("2"), calls: ["update a", "look b"] },
  ]);
  scenario("not for a dependency that moves", [
    { config: thing("a") + look("x", '"q"', "depends_on = [mock_thing.a]") },
    {
      config:
        'resource "mock_thing" "b" {\n  name = "a"\n}\nmoved {\n  from = mock_thing.a\n  to = mock_thing.b\n}\n' +
        look("x", '"q"', "depends_on = [mock_thing.b]"),
      plan: ["no-op mock_thing.b was mock_thing.a"],
      planCalls: ["look q"],
    },
  ]);
  scenario("are not read to destroy everything", [
    { config: thing("a") + look("x", '"q"') },
    {
      config: thing("a") + look("x", '"q"'),
      options: { mode: "destroy" },
      planCalls: [],
      calls: ["delete a"],
      state: [],
    },
  ]);
});

describe("how old a look may be", () => {
  const drifted = {
    config: thing("a", 'value = "1"'),
    before: (cloud: { drift(name: string, change: Readonly<Record<string, Value>>): void }) =>
      cloud.drift("a", { value: Value.string("9") }),
  };
  scenario("any age: looked at again", [
    { config: drifted.config },
    {
      ...drifted,
      options: { read: { kind: "older-than", ageMs: 0 } },
      plan: ["update mock_thing.a"],
    },
  ]);
  scenario("no look at all plans from the record, also to destroy", [
    { config: drifted.config },
    {
      config: "",
      options: { mode: "destroy", read: { kind: "never" } },
      plan: ["delete mock_thing.a"],
      calls: ["delete a"],
    },
  ]);
  scenario("no look does not see that something is gone", [
    { config: drifted.config },
    {
      config: drifted.config,
      before: (cloud) => cloud.drift("a", undefined),
      options: { read: { kind: "never" } },
      plan: [],
    },
    { config: drifted.config, plan: ["create mock_thing.a"] },
  ]);
  scenario("no look still sees what the configuration changes", [
    { config: drifted.config },
    {
      config: thing("a", 'value = "2"'),
      options: { read: { kind: "never" } },
      plan: ["update mock_thing.a"],
      calls: ["update a"],
    },
  ]);
});

describe("unknown values, further", () => {
  scenario("do not keep a number from being known", [
    {
      config: thing("a") + thing("b", "count = length([mock_thing.a.id, mock_thing.a.out])"),
      plan: ["create mock_thing.a", "create mock_thing.b[0]", "create mock_thing.b[1]"],
    },
  ]);
  scenario("behind a condition that is unknown", [
    {
      config: `${thing("a")}output "o" { value = mock_thing.a.id == "id-1" ? "yes" : "no" }`,
      outputs: { o: '"yes"' },
    },
  ]);
  scenario("in one element leave the others known", [
    {
      config: thing("a") + thing("b", 'tags = { x = mock_thing.a.id, y = "1" }'),
      check: ({ changes }) => {
        const after = changes.find(({ address }) => address === "mock_thing.b")?.after;
        const tags = new Map(after?.entries()).get("tags");
        const known = [...(tags?.entries() ?? [])].map(
          ([name, value]) => `${name} ${value.isKnown}`,
        );
        if (known.join() !== "x false,y true") throw new Error(known.join());
      },
    },
  ]);
  scenario("cannot be keys of a module call", [
    {
      config: {
        "main.tf": `${thing("a")}module "m" {\n  source   = "./m"\n  for_each = toset([mock_thing.a.id])\n}\n`,
        "m/main.tf": "",
      },
      errors: ["Invalid for_each argument"],
    },
  ]);
});

describe("conditions, further", () => {
  scenario("decided during apply stop what is behind them", [
    {
      config:
        thing("a") +
        thing(
          "b",
          'lifecycle {\n  precondition {\n    condition     = mock_thing.a.id == "other"\n    error_message = "no"\n  }\n}',
        ) +
        thing("c", "value = mock_thing.b.id"),
      status: "partially_applied",
      calls: ["create a"],
      left: ["failed mock_thing.b", "skipped mock_thing.c because mock_thing.b"],
      state: ["mock_thing.a"],
    },
  ]);
  scenario("after an update keep what was done", [
    { config: thing("a", 'value = "1"') },
    {
      config: thing(
        "a",
        'value = "2"\nlifecycle {\n  postcondition {\n    condition     = self.out == "out of 1"\n    error_message = "no"\n  }\n}',
      ),
      status: "failed",
      calls: ["update a"],
      state: ["mock_thing.a"],
    },
  ]);
  scenario("of one instance stop that one alone", [
    {
      config: thing(
        "a",
        'count = 2\nlifecycle {\n  postcondition {\n    condition     = self.id == "id-1"\n    error_message = "no"\n  }\n}',
      ),
      status: "partially_applied",
      calls: ["create a", "create a"],
      left: ["failed mock_thing.a[1]"],
    },
  ]);
});

describe("parts, further", () => {
  const pair =
    thing("a", 'for_each = toset(["x", "y"])') +
    'resource "mock_thing" "b" {\n  for_each = toset(["x", "y"])\n  name = "b-${each.key}"\n  value = mock_thing.a[each.key].id\n}\n';
  scenario("a target that is a data source", [
    {
      config: thing("a") + look("x", '"q"') + thing("b"),
      options: { targets: ["data.mock_look.x"] },
      plan: [],
      planCalls: ["look q"],
    },
  ]);
  scenario("one key of a module", [
    {
      config: {
        "main.tf": 'module "m" {\n  source   = "./m"\n  for_each = toset(["x", "y"])\n}\n',
        "m/main.tf": thing("a"),
      },
      options: { targets: ['module.m["x"]'] },
      plan: ['create module.m["x"].mock_thing.a'],
    },
  ]);
  scenario("a module that is left out", [
    {
      config: {
        "main.tf": `module "m" {\n  source = "./m"\n}\n${thing("z")}`,
        "m/main.tf": thing("a"),
      },
      options: { excludes: ["module.m"] },
      plan: ["create mock_thing.z"],
    },
  ]);
  scenario("an instance that is left out, with those that depend on its resource", [
    {
      config: pair,
      options: { excludes: ['mock_thing.a["x"]'] },
      plan: ['create mock_thing.a["y"]'],
    },
  ]);
  scenario("a target that is replaced on request", [
    { config: thing("a") + thing("b") },
    {
      config: thing("a") + thing("b"),
      options: { targets: ["mock_thing.a"], replace: ["mock_thing.a", "mock_thing.b"] },
      plan: ["replace mock_thing.a replace-by-request"],
      calls: ["delete a", "create a"],
    },
  ]);
  scenario("to destroy: what is left out keeps what it depends on", [
    { config: thing("a") + thing("b", "value = mock_thing.a.id") + thing("c") },
    {
      config: thing("a") + thing("b", "value = mock_thing.a.id") + thing("c"),
      options: { mode: "destroy", excludes: ["mock_thing.b"] },
      calls: ["delete c"],
      state: ["mock_thing.a", "mock_thing.b"],
    },
  ]);
});

describe("secrets, further", () => {
  const secret = 'variable "s" {\n  default   = "hunter2-long"\n  sensitive = true\n}\n';
  scenario("go through a module and come out as such", [
    {
      config: {
        "main.tf": `${secret}module "m" {\n  source = "./m"\n  s = var.s\n}\noutput "o" {\n  value     = module.m.o\n  sensitive = true\n}\n`,
        "m/main.tf": `variable "s" {}\n${thing("a", "value = var.s")}output "o" { value = mock_thing.a.value }\n`,
      },
      outputs: { o: '"hunter2-long"' },
    },
  ]);
  scenario("do not stop a count", [
    {
      config: `${secret}${thing("a", "count = length(nonsensitive(var.s)) > 0 ? 1 : 0")}`,
      plan: ["create mock_thing.a[0]"],
    },
  ]);
  scenario("can say how many there are, which is no secret then", [
    {
      config: `${secret}${thing("a", 'count = var.s == "" ? 0 : 1')}`,
      plan: ["create mock_thing.a[0]"],
    },
  ]);
});

import { Value } from "@stackwright/cty";
import { describe } from "vitest";
import { scenario } from "./scenario.ts";

const thing = (name: string, body = ""): string =>
  `resource "mock_thing" "${name}" {\n  name = "${name}"\n${body}\n}\n`;
const named = (label: string, name: string, body = ""): string =>
  `resource "mock_thing" "${label}" {\n  name = "${name}"\n${body}\n}\n`;
const moved = (from: string, to: string): string => `moved {\n  from = ${from}\n  to = ${to}\n}\n`;
const FIRST = "lifecycle {\n  create_before_destroy = true\n}";

/** `a` in a zone, `b` in the zone of `a`'s id, `c` in that of `b`'s: one change replaces all. */
const chain = (zone: string, ...first: readonly string[]): string => {
  const of = (name: string, zoneOf: string): string =>
    thing(name, `zone = ${zoneOf}\n${first.includes(name) ? FIRST : ""}`);
  return of("a", `"${zone}"`) + of("b", "mock_thing.a.id") + of("c", "mock_thing.b.id");
};

describe("replacements along a chain", () => {
  scenario("all destroyed first: from the end, then made from the beginning", [
    { config: chain("1") },
    {
      config: chain("2"),
      calls: ["delete c", "delete b", "delete a", "create a", "create b", "create c"],
    },
  ]);
  scenario("all created first: made from the beginning, then ended from the end", [
    { config: chain("1", "a", "b", "c") },
    {
      config: chain("2", "a", "b", "c"),
      calls: ["create a", "create b", "create c", "delete c", "delete b", "delete a"],
    },
  ]);
  scenario("the last created first draws all with it", [
    { config: chain("1", "c") },
    {
      config: chain("2", "c"),
      calls: ["create a", "create b", "create c", "delete c", "delete b", "delete a"],
    },
  ]);
  scenario("the middle created first draws the beginning with it, and not the end", [
    { config: chain("1", "b") },
    {
      config: chain("2", "b"),
      plan: [
        "replace create-first mock_thing.a replace-because-cannot-update",
        "replace create-first mock_thing.b replace-because-cannot-update",
        "replace mock_thing.c replace-because-cannot-update",
      ],
      calls: ["create a", "create b", "delete c", "create c", "delete b", "delete a"],
    },
  ]);
  scenario("the beginning created first draws nothing with it", [
    { config: chain("1", "a") },
    {
      config: chain("2", "a"),
      calls: ["delete c", "create a", "delete b", "create b", "delete a", "create c"],
    },
  ]);
  scenario("stops where a value stays as it is", [
    { config: thing("a", 'zone = "1"') + thing("b", "zone = mock_thing.a.name") },
    {
      config: thing("a", 'zone = "2"') + thing("b", "zone = mock_thing.a.name"),
      plan: ["replace mock_thing.a replace-because-cannot-update"],
      calls: ["delete a", "create a"],
    },
  ]);
  scenario("replaces the instance that it reaches, and no other", [
    {
      config: `${thing("a", 'count = 2\nzone = "1"')}${thing("b", "count = 2\nzone = mock_thing.a[count.index].id")}`,
    },
    {
      config: `${thing("a", 'count = 2\nzone = count.index == 0 ? "1" : "2"')}${thing("b", "count = 2\nzone = mock_thing.a[count.index].id")}`,
      plan: [
        "replace mock_thing.a[1] replace-because-cannot-update",
        "replace mock_thing.b[1] replace-because-cannot-update",
      ],
      calls: ["delete b", "delete a", "create a", "create b"],
    },
  ]);
  scenario("creates each key first, one by one", [
    {
      config: `resource "mock_thing" "a" {\n  for_each = toset(["x", "y"])\n  name = each.key\n  zone = "1"\n${FIRST}\n}\n`,
    },
    {
      config: `resource "mock_thing" "a" {\n  for_each = toset(["x", "y"])\n  name = each.key\n  zone = "2"\n${FIRST}\n}\n`,
      calls: ["create x", "create y", "delete x", "delete y"],
      sorted: true,
      state: ['mock_thing.a["x"]', 'mock_thing.a["y"]'],
    },
  ]);
  scenario("ends what is no more before it makes what it depended on anew", [
    { config: thing("a", 'zone = "1"') + thing("b", "zone = mock_thing.a.id") },
    { config: thing("a", 'zone = "2"'), calls: ["delete b", "delete a", "create a"] },
  ]);
  scenario("makes what is new after what it depends on is made anew", [
    { config: thing("a", 'zone = "1"') },
    {
      config: thing("a", 'zone = "2"') + thing("b", "zone = mock_thing.a.id"),
      calls: ["delete a", "create a", "create b"],
    },
  ]);
});

describe("failures along a chain", () => {
  scenario("the old object stays where a dependent could not let it go", [
    { config: thing("a", `zone = "1"\n${FIRST}`) + thing("b", "value = mock_thing.a.id") },
    {
      config:
        thing("a", `zone = "2"\n${FIRST}`) + thing("b", 'value = mock_thing.a.id\nfail = "update"'),
      status: "partially_applied",
      calls: ["create a", "update b"],
      state: ["mock_thing.a", "mock_thing.a (deposed)", "mock_thing.b"],
    },
    {
      config: thing("a", `zone = "2"\n${FIRST}`) + thing("b", "value = mock_thing.a.id"),
      plan: ["delete mock_thing.a (deposed)", "update mock_thing.b"],
      calls: ["update b", "delete a"],
      state: ["mock_thing.a", "mock_thing.b"],
    },
  ]);
  scenario("nothing behind it is made, everything beside it is", [
    {
      config: `${thing("a", 'fail = "create"')}${thing("b", "value = mock_thing.a.id")}${thing("c", "value = mock_thing.b.id")}${thing("d")}`,
      status: "partially_applied",
      calls: ["create a", "create d"],
      left: [
        "failed mock_thing.a",
        "skipped mock_thing.b because mock_thing.a",
        "skipped mock_thing.c because mock_thing.a",
      ],
      state: ["mock_thing.d"],
    },
  ]);
  scenario("what was created by half is replaced first of all", [
    {
      config: thing("a", 'fail = "create-partly"') + thing("b", "value = mock_thing.a.id"),
      status: "partially_applied",
      state: ["mock_thing.a (tainted)"],
    },
    {
      config: thing("a") + thing("b", "value = mock_thing.a.id"),
      plan: ["create mock_thing.b", "replace mock_thing.a replace-because-tainted"],
      calls: ["delete a", "create a", "create b"],
    },
  ]);
  scenario("what it could not destroy keeps what it depends on", [
    { config: thing("a") + thing("b", 'value = mock_thing.a.id\nfail = "delete"') },
    {
      config: "",
      status: "failed",
      calls: ["delete b"],
      left: ["failed mock_thing.b", "skipped mock_thing.a because mock_thing.b"],
      state: ["mock_thing.a", "mock_thing.b"],
    },
  ]);
});

describe("deposed objects", () => {
  const failing = thing("a", `zone = "1"\nfail = "delete"\n${FIRST}`);
  scenario("several of one address are all ended", [
    { config: failing },
    {
      config: thing("a", `zone = "2"\nfail = "delete"\n${FIRST}`),
      status: "partially_applied",
      state: ["mock_thing.a", "mock_thing.a (deposed)"],
    },
    {
      config: thing("a", `zone = "3"\n${FIRST}`),
      status: "partially_applied",
      state: ["mock_thing.a", "mock_thing.a (deposed)", "mock_thing.a (deposed)"],
    },
    {
      config: thing("a", `zone = "3"\n${FIRST}`),
      before: (cloud) => cloud.drift("a", { fail: Value.null(Value.string("").type) }),
      calls: ["delete a", "delete a"],
      state: ["mock_thing.a"],
    },
  ]);
  scenario("go with everything when all is destroyed", [
    { config: failing },
    {
      config: thing("a", `zone = "2"\n${FIRST}`),
      status: "partially_applied",
      state: ["mock_thing.a", "mock_thing.a (deposed)"],
    },
    {
      config: "",
      options: { mode: "destroy" },
      before: (cloud) => cloud.drift("a", { fail: Value.null(Value.string("").type) }),
      calls: ["delete a", "delete a"],
      state: [],
    },
  ]);
  scenario("that are gone already are not deleted", [
    { config: failing },
    { config: thing("a", `zone = "2"\n${FIRST}`), status: "partially_applied" },
    {
      config: thing("a", `zone = "2"\n${FIRST}`),
      before: (cloud) => {
        const [old] = cloud.objects.keys();
        cloud.objects.delete(old ?? "");
      },
      plan: [],
      calls: [],
      state: ["mock_thing.a"],
    },
  ]);
  scenario("stay where only something else is targeted", [
    { config: failing + thing("b") },
    { config: thing("a", `zone = "2"\n${FIRST}`) + thing("b"), status: "partially_applied" },
    {
      config: thing("a", `zone = "2"\n${FIRST}`) + thing("b", 'value = "1"'),
      options: { targets: ["mock_thing.b"] },
      plan: ["update mock_thing.b"],
      state: ["mock_thing.a", "mock_thing.a (deposed)", "mock_thing.b"],
    },
  ]);
  scenario("move with their address", [
    { config: failing },
    { config: thing("a", `zone = "2"\n${FIRST}`), status: "partially_applied" },
    {
      config: named("b", "a", `zone = "2"\n${FIRST}`) + moved("mock_thing.a", "mock_thing.b"),
      before: (cloud) => cloud.drift("a", { fail: Value.null(Value.string("").type) }),
      calls: ["delete a"],
      state: ["mock_thing.b"],
    },
  ]);
});

describe("moved along a chain", () => {
  scenario("over several runs", [
    { config: named("a", "x") },
    { config: named("b", "x") + moved("mock_thing.a", "mock_thing.b"), calls: [] },
    {
      config:
        named("c", "x") +
        moved("mock_thing.a", "mock_thing.b") +
        moved("mock_thing.b", "mock_thing.c"),
      plan: ["no-op mock_thing.c was mock_thing.b"],
      calls: [],
      state: ["mock_thing.c"],
    },
  ]);
  scenario("of four names at once", [
    { config: named("a", "x") },
    {
      config:
        named("d", "x") +
        moved("mock_thing.a", "mock_thing.b") +
        moved("mock_thing.b", "mock_thing.c") +
        moved("mock_thing.c", "mock_thing.d"),
      plan: ["no-op mock_thing.d was mock_thing.a"],
      calls: [],
    },
  ]);
  scenario("of all instances of a resource", [
    { config: named("a", "x", "count = 2") },
    {
      config: named("b", "x", "count = 2") + moved("mock_thing.a", "mock_thing.b"),
      plan: [
        "no-op mock_thing.b[0] was mock_thing.a[0]",
        "no-op mock_thing.b[1] was mock_thing.a[1]",
      ],
      calls: [],
    },
  ]);
  scenario("from numbers to keys", [
    { config: named("a", "x", "count = 2") },
    {
      config: `${named("a", "x", 'for_each = toset(["p", "q"])')}${moved("mock_thing.a[0]", 'mock_thing.a["p"]')}${moved("mock_thing.a[1]", 'mock_thing.a["q"]')}`,
      calls: [],
      state: ['mock_thing.a["p"]', 'mock_thing.a["q"]'],
    },
  ]);
  scenario("out of a module", [
    { config: { "main.tf": 'module "m" { source = "./m" }\n', "m/main.tf": thing("a") } },
    {
      config: thing("a") + moved("module.m.mock_thing.a", "mock_thing.a"),
      plan: ["no-op mock_thing.a was module.m.mock_thing.a"],
      calls: [],
      state: ["mock_thing.a"],
    },
  ]);
  scenario("of a module that gets keys", [
    { config: { "main.tf": 'module "m" { source = "./m" }\n', "m/main.tf": thing("a") } },
    {
      config: {
        "main.tf": `module "m" {\n  source   = "./m"\n  for_each = toset(["x"])\n}\n${moved("module.m", 'module.m["x"]')}`,
        "m/main.tf": thing("a"),
      },
      plan: ['no-op module.m["x"].mock_thing.a was module.m.mock_thing.a'],
      calls: [],
    },
  ]);
  scenario("within a module, in each of its instances", [
    {
      config: {
        "main.tf": 'module "m" {\n  source = "./m"\n  count = 2\n}\n',
        "m/main.tf": named("a", "x"),
      },
    },
    {
      config: {
        "main.tf": 'module "m" {\n  source = "./m"\n  count = 2\n}\n',
        "m/main.tf": named("b", "x") + moved("mock_thing.a", "mock_thing.b"),
      },
      calls: [],
      state: ["module.m[0].mock_thing.b", "module.m[1].mock_thing.b"],
    },
  ]);
  scenario("to a name that nothing is declared under: it ends there", [
    { config: named("a", "x") },
    {
      config: moved("mock_thing.a", "mock_thing.b"),
      plan: ["delete mock_thing.b was mock_thing.a delete-because-no-move-target"],
      calls: ["delete x"],
      state: [],
    },
  ]);
  scenario("in a circle: refused", [
    { config: named("a", "x") },
    {
      config:
        named("c", "x") +
        moved("mock_thing.a", "mock_thing.b") +
        moved("mock_thing.b", "mock_thing.a"),
      errors: ["Cyclic dependency in move statements"],
    },
  ]);
  scenario("from one name to two: refused", [
    { config: named("a", "x") },
    {
      config:
        named("b", "x") +
        named("c", "y") +
        moved("mock_thing.a", "mock_thing.b") +
        moved("mock_thing.a", "mock_thing.c"),
      errors: ["Ambiguous move statements"],
    },
  ]);
  scenario("from two names to one: refused", [
    { config: named("a", "x") + named("b", "y") },
    {
      config:
        named("c", "x") +
        moved("mock_thing.a", "mock_thing.c") +
        moved("mock_thing.b", "mock_thing.c"),
      errors: ["Ambiguous move statements"],
    },
  ]);
  scenario("and replaced, created first", [
    { config: named("a", "x", `zone = "1"\n${FIRST}`) },
    {
      config: named("b", "x", `zone = "2"\n${FIRST}`) + moved("mock_thing.a", "mock_thing.b"),
      plan: ["replace create-first mock_thing.b was mock_thing.a replace-because-cannot-update"],
      calls: ["create x", "delete x"],
      state: ["mock_thing.b"],
    },
  ]);
  scenario("and destroyed with what depends on it, in order", [
    {
      config:
        named("a", "x") +
        named("y", "y", "value = mock_thing.a.id") +
        named("p", "p", "count = 2") +
        named("z", "q", "value = length(mock_thing.p)"),
    },
    {
      config:
        moved("mock_thing.a", "mock_thing.b") +
        moved("mock_thing.p", "mock_thing.r") +
        named("b", "x") +
        named("y", "y", "value = mock_thing.b.id") +
        named("r", "p", "count = 2") +
        named("z", "q", "value = length(mock_thing.r)"),
      options: { mode: "destroy" },
      calls: ["delete q", "delete y", "delete x", "delete p", "delete p"],
      state: [],
    },
  ]);
  scenario("and protected under its new name", [
    { config: named("a", "x") },
    {
      config:
        named("b", "x", "lifecycle {\n  prevent_destroy = true\n}") +
        moved("mock_thing.a", "mock_thing.b"),
      options: { mode: "destroy" },
      errors: ["Instance cannot be destroyed"],
    },
  ]);
  scenario("and only looked at", [
    { config: named("a", "x", 'value = "1"') },
    {
      config: named("b", "x", 'value = "1"') + moved("mock_thing.a", "mock_thing.b"),
      options: { mode: "refresh-only" },
      before: (cloud) => cloud.drift("x", { value: Value.string("2") }),
      calls: [],
      state: ["mock_thing.b"],
    },
  ]);
  scenario("and destroyed with everything under its new name", [
    { config: named("a", "x") },
    {
      config: named("b", "x") + moved("mock_thing.a", "mock_thing.b"),
      options: { mode: "destroy" },
      calls: ["delete x"],
      state: [],
    },
  ]);
});

describe("removed, by topic", () => {
  const removed = (from: string, destroy: boolean): string =>
    `removed {\n  from = ${from}\n  lifecycle {\n    destroy = ${destroy}\n  }\n}\n`;
  scenario("gives up what never was", [
    { config: thing("b") + removed("mock_thing.a", false), plan: ["create mock_thing.b"] },
  ]);
  scenario("destroys dependents before", [
    { config: thing("a") + thing("b", "value = mock_thing.a.id") },
    {
      config: removed("mock_thing.a", true) + removed("mock_thing.b", true),
      calls: ["delete b", "delete a"],
      state: [],
    },
  ]);
  scenario("gives up one and destroys what it depended on", [
    { config: thing("a") + thing("b", "value = mock_thing.a.id") },
    {
      config: removed("mock_thing.b", false),
      calls: ["delete a"],
      state: [],
    },
  ]);
  scenario("gives up deposed objects as well", [
    { config: thing("a", `zone = "1"\nfail = "delete"\n${FIRST}`) },
    { config: thing("a", `zone = "2"\n${FIRST}`), status: "partially_applied" },
    { config: removed("mock_thing.a", false), calls: [], state: [] },
  ]);
  scenario("gives up what moved there before", [
    { config: named("a", "x") },
    {
      config: moved("mock_thing.a", "mock_thing.b") + removed("mock_thing.b", false),
      calls: [],
      state: [],
    },
  ]);
  scenario("gives up what is gone already, without a word", [
    { config: thing("a") },
    {
      config: removed("mock_thing.a", false),
      before: (cloud) => cloud.drift("a", undefined),
      calls: [],
      state: [],
    },
  ]);
});

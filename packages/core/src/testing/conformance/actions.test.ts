import { Value } from "@stackwright/cty";
import { describe } from "vitest";
import { scenario } from "./scenario.ts";

const thing = (name: string, body = ""): string =>
  `resource "mock_thing" "${name}" {\n  name = "${name}"\n${body}\n}\n`;

describe("creating", () => {
  scenario("creates what is not there", [
    {
      config: thing("a"),
      plan: ["create mock_thing.a"],
      calls: ["create a"],
      state: ["mock_thing.a"],
    },
  ]);
  scenario("creates in the order of dependencies", [
    {
      config: thing("b", "value = mock_thing.a.id") + thing("a"),
      plan: ["create mock_thing.a", "create mock_thing.b"],
      calls: ["create a", "create b"],
    },
  ]);
  scenario("creates a chain in order", [
    {
      config:
        thing("c", "value = mock_thing.b.out") +
        thing("b", "value = mock_thing.a.out") +
        thing("a"),
      calls: ["create a", "create b", "create c"],
    },
  ]);
  scenario("waits for depends_on without a reference", [
    {
      config: thing("a", "depends_on = [mock_thing.z]") + thing("z"),
      calls: ["create z", "create a"],
    },
  ]);
  scenario("creates as many as count says", [
    {
      config: thing("a", "count = 3"),
      plan: ["create mock_thing.a[0]", "create mock_thing.a[1]", "create mock_thing.a[2]"],
      calls: ["create a", "create a", "create a"],
    },
  ]);
  scenario("creates nothing for a count of zero", [
    { config: thing("a", "count = 0"), plan: [], calls: [] },
  ]);
  scenario("creates one for each key", [
    {
      config: 'resource "mock_thing" "a" {\n  for_each = toset(["x", "y"])\n  name = each.key\n}\n',
      plan: ['create mock_thing.a["x"]', 'create mock_thing.a["y"]'],
      calls: ["create x", "create y"],
    },
  ]);
  scenario("lets an instance wait for its own counterpart only", [
    {
      config:
        'resource "mock_thing" "a" {\n  for_each = toset(["x", "y"])\n  name = each.key\n  fail = each.key == "x" ? "create" : null\n}\n' +
        'resource "mock_thing" "b" {\n  for_each = toset(["x", "y"])\n  name = "b-${each.key}"\n  value = mock_thing.a[each.key].id\n}\n',
      status: "partially_applied",
      calls: ["create x", "create y", "create b-y"],
      left: ['failed mock_thing.a["x"]', 'skipped mock_thing.b["x"] because mock_thing.a["x"]'],
    },
  ]);
  scenario("takes what the provider decides where nothing is configured", [
    { config: `${thing("a")}output "size" { value = mock_thing.a.size }`, outputs: { size: "7" } },
  ]);
  scenario("keeps what is configured where the provider could decide", [
    {
      config: `${thing("a", "size = 3")}output "size" { value = mock_thing.a.size }`,
      outputs: { size: "3" },
    },
  ]);
});

describe("updating", () => {
  scenario("changes what can be changed", [
    { config: thing("a", 'value = "1"') },
    { config: thing("a", 'value = "2"'), plan: ["update mock_thing.a"], calls: ["update a"] },
  ]);
  scenario("does nothing where nothing changed", [
    { config: thing("a", 'value = "1"') },
    { config: thing("a", 'value = "1"'), plan: [], calls: [] },
  ]);
  scenario("updates dependents after what they depend on", [
    { config: thing("a", 'value = "1"') + thing("b", "value = mock_thing.a.out") },
    {
      config: thing("a", 'value = "2"') + thing("b", "value = mock_thing.a.out"),
      plan: ["update mock_thing.a", "update mock_thing.b"],
      calls: ["update a", "update b"],
    },
  ]);
  scenario("leaves dependents alone that do not look at what changes", [
    { config: thing("a", 'value = "1"') + thing("b", "value = mock_thing.a.id") },
    {
      config: thing("a", 'value = "2"') + thing("b", "value = mock_thing.a.id"),
      plan: ["update mock_thing.a"],
      calls: ["update a"],
    },
  ]);
  scenario("keeps what the provider decided when another attribute changes", [
    { config: thing("a", 'value = "1"') },
    {
      config: `${thing("a", 'value = "2"')}output "size" { value = mock_thing.a.size }`,
      plan: ["update mock_thing.a"],
      outputs: { size: "7" },
    },
  ]);
  scenario("names what an attribute changes because of", [
    { config: thing("a", 'value = "1"') + thing("b", "value = mock_thing.a.out") },
    {
      config: thing("a", 'value = "2"') + thing("b", "value = mock_thing.a.out"),
      check: ({ changes }) => {
        const causes = changes.find(({ address }) => address === "mock_thing.b")?.causes ?? [];
        const found = causes.map(({ path, because }) => `${path.toString()} ${because.join()}`);
        if (found.join() !== ".value mock_thing.a") throw new Error(found.join());
      },
    },
  ]);
  scenario("removes an attribute that is not configured any more", [
    { config: thing("a", 'value = "1"') },
    { config: thing("a"), plan: ["update mock_thing.a"], calls: ["update a"] },
  ]);
  scenario("sees one changed element of a map", [
    { config: thing("a", 'tags = { x = "1", y = "2" }') },
    { config: thing("a", 'tags = { x = "1", y = "3" }'), plan: ["update mock_thing.a"] },
  ]);
});

describe("replacing", () => {
  scenario("destroys first by default", [
    { config: thing("a", 'zone = "1"') },
    {
      config: thing("a", 'zone = "2"'),
      plan: ["replace mock_thing.a replace-because-cannot-update"],
      calls: ["delete a", "create a"],
    },
  ]);
  scenario("replaces between the end and the beginning of nothing else", [
    { config: thing("a", 'zone = "1"') + thing("b", "value = mock_thing.a.id") },
    {
      config: thing("a", 'zone = "2"') + thing("b", "value = mock_thing.a.id"),
      plan: ["replace mock_thing.a replace-because-cannot-update", "update mock_thing.b"],
      calls: ["delete a", "create a", "update b"],
    },
  ]);
  scenario("replaces dependents that cannot be updated, ends in reverse", [
    { config: thing("a", 'zone = "1"') + thing("b", "zone = mock_thing.a.id") },
    {
      config: thing("a", 'zone = "2"') + thing("b", "zone = mock_thing.a.id"),
      plan: [
        "replace mock_thing.a replace-because-cannot-update",
        "replace mock_thing.b replace-because-cannot-update",
      ],
      calls: ["delete b", "delete a", "create a", "create b"],
    },
  ]);
  scenario("replaces on request", [
    { config: thing("a") },
    {
      config: thing("a"),
      options: { replace: ["mock_thing.a"] },
      plan: ["replace mock_thing.a replace-by-request"],
      calls: ["delete a", "create a"],
    },
  ]);
  scenario("names the request where the object cannot be updated either", [
    { config: thing("a", 'zone = "1"') },
    {
      config: thing("a", 'zone = "2"'),
      options: { replace: ["mock_thing.a"] },
      plan: ["replace mock_thing.a replace-by-request"],
    },
  ]);
  scenario("replaces one instance on request", [
    { config: thing("a", "count = 2") },
    {
      config: thing("a", "count = 2"),
      options: { replace: ["mock_thing.a[1]"] },
      plan: ["replace mock_thing.a[1] replace-by-request"],
    },
  ]);
  scenario("names the trigger where there are other reasons to replace as well", [
    {
      config:
        thing("a", 'value = "1"') +
        thing("b", 'zone = "1"\n lifecycle {\n replace_triggered_by = [mock_thing.a]\n}') +
        thing("c", "lifecycle {\n replace_triggered_by = [mock_thing.a]\n}"),
    },
    {
      config:
        thing("a", 'value = "2"') +
        thing("b", 'zone = "2"\n lifecycle {\n replace_triggered_by = [mock_thing.a]\n}') +
        thing("c", "lifecycle {\n replace_triggered_by = [mock_thing.a]\n}"),
      options: { replace: ["mock_thing.c"] },
      plan: [
        "replace mock_thing.b replace-by-triggers",
        "replace mock_thing.c replace-by-triggers",
        "update mock_thing.a",
      ],
    },
  ]);
  scenario("replaces what a trigger is about when that is updated", [
    {
      config:
        thing("a", 'value = "1"') +
        thing("b", "lifecycle {\n replace_triggered_by = [mock_thing.a]\n}"),
    },
    {
      config:
        thing("a", 'value = "2"') +
        thing("b", "lifecycle {\n replace_triggered_by = [mock_thing.a]\n}"),
      plan: ["replace mock_thing.b replace-by-triggers", "update mock_thing.a"],
      calls: ["update a", "delete b", "create b"],
      sorted: false,
    },
  ]);
  scenario("creates what a trigger names first", [
    {
      config: thing("a", "lifecycle {\n replace_triggered_by = [mock_thing.z]\n}") + thing("z"),
      calls: ["create z", "create a"],
    },
    { config: "", calls: ["delete a", "delete z"] },
  ]);
  scenario("waits for each counterpart that a trigger names", [
    {
      config:
        thing("z", 'count = 2\nfail = count.index == 0 ? "create" : null') +
        thing(
          "a",
          "count = 2\nlifecycle {\n replace_triggered_by = [mock_thing.z[count.index]]\n}",
        ),
      status: "partially_applied",
      state: ["mock_thing.a[1]", "mock_thing.z[1]"],
    },
  ]);
  scenario("replaces nothing where what a trigger names could not be updated", [
    {
      config:
        thing("z", 'value = "1"') +
        thing(
          "a",
          "lifecycle {\n create_before_destroy = true\n replace_triggered_by = [mock_thing.z]\n}",
        ),
    },
    {
      config:
        thing("z", 'value = "2"\nfail = "update"') +
        thing(
          "a",
          "lifecycle {\n create_before_destroy = true\n replace_triggered_by = [mock_thing.z]\n}",
        ),
      status: "failed",
      calls: ["update z"],
    },
  ]);
  scenario("does not fire a trigger for another attribute", [
    {
      config:
        thing("a", 'value = "1"') +
        thing("b", "lifecycle {\n replace_triggered_by = [mock_thing.a.tags]\n}"),
    },
    {
      config:
        thing("a", 'value = "2"') +
        thing("b", "lifecycle {\n replace_triggered_by = [mock_thing.a.tags]\n}"),
      plan: ["update mock_thing.a"],
    },
  ]);
  scenario("does not fire a trigger when its target is created", [
    {
      config:
        thing("b", "lifecycle {\n replace_triggered_by = [mock_thing.a]\n}") +
        thing("a", "count = 0"),
    },
    {
      config:
        thing("b", "lifecycle {\n replace_triggered_by = [mock_thing.a]\n}") +
        thing("a", "count = 1"),
      plan: ["create mock_thing.a[0]"],
    },
  ]);
  scenario("replaces what was created by half", [
    {
      config: thing("a", 'fail = "create-partly"'),
      status: "partially_applied",
      state: ["mock_thing.a (tainted)"],
    },
    {
      config: thing("a"),
      plan: ["replace mock_thing.a replace-because-tainted"],
      calls: ["delete a", "create a"],
      state: ["mock_thing.a"],
    },
  ]);
});

describe("ending", () => {
  scenario("deletes what is not declared any more", [
    { config: thing("a") + thing("b") },
    {
      config: thing("a"),
      plan: ["delete mock_thing.b delete-because-no-resource-config"],
      calls: ["delete b"],
    },
  ]);
  scenario("deletes all of it without any configuration", [
    { config: thing("a") + thing("b", "value = mock_thing.a.id") },
    { config: "", calls: ["delete b", "delete a"], state: [] },
  ]);
  scenario("deletes what count does not reach any more", [
    { config: thing("a", "count = 3") },
    {
      config: thing("a", "count = 1"),
      plan: [
        "delete mock_thing.a[1] delete-because-count-index",
        "delete mock_thing.a[2] delete-because-count-index",
      ],
    },
  ]);
  scenario("deletes what is no key any more", [
    {
      config: 'resource "mock_thing" "a" {\n  for_each = toset(["x", "y"])\n  name = each.key\n}\n',
    },
    {
      config: 'resource "mock_thing" "a" {\n  for_each = toset(["y"])\n  name = each.key\n}\n',
      plan: ['delete mock_thing.a["x"] delete-because-each-key'],
      calls: ["delete x"],
    },
  ]);
  scenario("deletes and creates where the kind of repetition changes", [
    { config: thing("a", "count = 1") },
    {
      config: 'resource "mock_thing" "a" {\n  for_each = toset(["x"])\n  name = each.key\n}\n',
      plan: ['create mock_thing.a["x"]', "delete mock_thing.a[0] delete-because-wrong-repetition"],
    },
  ]);
  scenario("lets dependents go before the object goes", [
    { config: thing("a") + thing("b", "value = mock_thing.a.id") },
    {
      config: thing("b"),
      plan: ["delete mock_thing.a delete-because-no-resource-config", "update mock_thing.b"],
      calls: ["update b", "delete a"],
    },
  ]);
  scenario("destroys in the reverse order of creation", [
    {
      config:
        thing("a") + thing("b", "value = mock_thing.a.id") + thing("c", "value = mock_thing.b.id"),
    },
    {
      config:
        thing("a") + thing("b", "value = mock_thing.a.id") + thing("c", "value = mock_thing.b.id"),
      options: { mode: "destroy" },
      calls: ["delete c", "delete b", "delete a"],
      state: [],
    },
  ]);
  scenario("destroys without the configuration, in the recorded order", [
    { config: thing("a") + thing("b", "depends_on = [mock_thing.a]") },
    { config: "", options: { mode: "destroy" }, calls: ["delete b", "delete a"], state: [] },
  ]);
  scenario("destroys a target with what depends on it", [
    { config: thing("a") + thing("b", "value = mock_thing.a.id") + thing("c") },
    {
      config: thing("a") + thing("b", "value = mock_thing.a.id") + thing("c"),
      options: { mode: "destroy", targets: ["mock_thing.a"] },
      calls: ["delete b", "delete a"],
      state: ["mock_thing.c"],
    },
  ]);
  scenario("keeps what an excluded object depends on", [
    { config: thing("a") + thing("b", "value = mock_thing.a.id") + thing("c") },
    {
      config: thing("a") + thing("b", "value = mock_thing.a.id") + thing("c"),
      options: { mode: "destroy", excludes: ["mock_thing.b"] },
      calls: ["delete c"],
      state: ["mock_thing.a", "mock_thing.b"],
    },
  ]);
  scenario("lists everything that is protected at once", [
    {
      config:
        thing("a", "lifecycle {\n prevent_destroy = true\n}") +
        thing("b", "lifecycle {\n prevent_destroy = true\n}"),
    },
    {
      config:
        thing("a", "lifecycle {\n prevent_destroy = true\n}") +
        thing("b", "lifecycle {\n prevent_destroy = true\n}"),
      options: { mode: "destroy" },
      errors: ["Instance cannot be destroyed"],
    },
  ]);
  scenario("protects against replacement", [
    { config: thing("a", 'zone = "1"\nlifecycle {\n prevent_destroy = true\n}') },
    {
      config: thing("a", 'zone = "2"\nlifecycle {\n prevent_destroy = true\n}'),
      errors: ["Instance cannot be destroyed"],
    },
  ]);
  scenario("lets a protected object be updated", [
    { config: thing("a", 'value = "1"\nlifecycle {\n prevent_destroy = true\n}') },
    {
      config: thing("a", 'value = "2"\nlifecycle {\n prevent_destroy = true\n}'),
      calls: ["update a"],
    },
  ]);
});

describe("looking", () => {
  scenario("restores what was changed behind its back", [
    { config: thing("a", 'value = "1"') },
    {
      config: thing("a", 'value = "1"'),
      before: (cloud) => cloud.drift("a", { value: Value.string("9") }),
      plan: ["update mock_thing.a"],
      calls: ["update a"],
    },
  ]);
  scenario("creates again what is gone", [
    { config: thing("a") },
    {
      config: thing("a"),
      before: (cloud) => cloud.drift("a", undefined),
      plan: ["create mock_thing.a"],
      calls: ["create a"],
      state: ["mock_thing.a"],
    },
  ]);
  scenario("creates again what is gone under dependents", [
    { config: thing("a") + thing("b", "value = mock_thing.a.id") },
    {
      config: thing("a") + thing("b", "value = mock_thing.a.id"),
      before: (cloud) => cloud.drift("a", undefined),
      plan: ["create mock_thing.a", "update mock_thing.b"],
      calls: ["create a", "update b"],
    },
  ]);
  scenario("forgets what is gone and not declared any more", [
    { config: thing("a") },
    { config: "", before: (cloud) => cloud.drift("a", undefined), plan: [], calls: [], state: [] },
  ]);
  scenario("does not look where it is told not to", [
    { config: thing("a", 'value = "1"') },
    {
      config: thing("a", 'value = "1"'),
      before: (cloud) => cloud.drift("a", { value: Value.string("9") }),
      options: { read: { kind: "never" } },
      plan: [],
    },
  ]);
  scenario("does not look again at what was looked at lately", [
    { config: thing("a", 'value = "1"') },
    {
      config: thing("a", 'value = "1"'),
      before: (cloud) => cloud.drift("a", { value: Value.string("9") }),
      options: { read: { kind: "older-than", ageMs: 3_600_000 } },
      plan: [],
    },
  ]);
  scenario("says what drifted", [
    { config: thing("a", 'value = "1"') },
    {
      config: thing("a", 'value = "1"'),
      before: (cloud) => cloud.drift("a", { value: Value.string("9") }),
      check: ({ drift }) => {
        if (drift.length !== 1 || drift[0]?.relevant !== true) throw new Error("no relevant drift");
      },
    },
  ]);
  scenario("calls drift relevant where a change refers to the attribute, also through a local", [
    {
      config: `${thing("a")}\nlocals { size = mock_thing.a.size }\n${thing("b", "value = local.size")}${thing("c", 'value = "1"')}`,
    },
    {
      config: `${thing("a")}\nlocals { size = mock_thing.a.size }\n${thing("b", "value = local.size")}${thing("c", 'value = "1"')}`,
      before: (cloud) => cloud.drift("a", { size: Value.number(8) }),
      check: ({ drift }) => {
        if (drift[0]?.attributes?.join() !== "size") throw new Error("size is not relevant");
      },
    },
  ]);
  scenario("calls drift irrelevant where changes have nothing to do with it", [
    { config: `${thing("a")}${thing("c", 'value = "1"')}` },
    {
      config: `${thing("a")}${thing("c", 'value = "2"')}`,
      before: (cloud) => cloud.drift("a", { size: Value.number(8) }),
      check: ({ drift }) => {
        if (drift.length !== 1 || drift[0]?.relevant !== false) throw new Error("relevant drift");
      },
    },
  ]);
  scenario("takes over what drifted where it is only looked at", [
    { config: `${thing("a", 'value = "1"')}output "v" { value = mock_thing.a.value }` },
    {
      config: `${thing("a", 'value = "1"')}output "v" { value = mock_thing.a.value }`,
      before: (cloud) => cloud.drift("a", { value: Value.string("9") }),
      options: { mode: "refresh-only" },
      plan: [],
      calls: [],
      outputs: { v: '"9"' },
    },
  ]);
  scenario("takes over what the provider decided otherwise", [
    { config: thing("a") },
    {
      config: `${thing("a")}output "size" { value = mock_thing.a.size }`,
      before: (cloud) => cloud.drift("a", { size: Value.number(8) }),
      plan: [],
      outputs: { size: "8" },
    },
  ]);
});

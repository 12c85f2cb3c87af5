import { describe, expect } from "vitest";
import { scenario } from "./scenario.ts";

const thing = (name: string, body = ""): string =>
  `resource "mock_thing" "${name}" {\n  name = "${name}"\n${body}\n}\n`;
const FIRST = "lifecycle {\n  create_before_destroy = true\n}";

describe("create before destroy", () => {
  scenario("makes the new object before the old one goes", [
    { config: thing("a", `zone = "1"\n${FIRST}`) },
    {
      config: thing("a", `zone = "2"\n${FIRST}`),
      plan: ["replace create-first mock_thing.a replace-because-cannot-update"],
      calls: ["create a", "delete a"],
      state: ["mock_thing.a"],
    },
  ]);
  scenario("lets dependents change over before the old object goes", [
    { config: thing("a", `zone = "1"\n${FIRST}`) + thing("b", "value = mock_thing.a.id") },
    {
      config: thing("a", `zone = "2"\n${FIRST}`) + thing("b", "value = mock_thing.a.id"),
      calls: ["create a", "update b", "delete a"],
    },
  ]);
  scenario("lets new dependents be made before the old object goes", [
    { config: thing("a", `zone = "1"\n${FIRST}`) },
    {
      config: thing("a", `zone = "2"\n${FIRST}`) + thing("b", "value = mock_thing.a.id"),
      calls: ["create a", "create b", "delete a"],
    },
  ]);
  scenario("keeps the old object where a new dependent cannot be made", [
    { config: thing("a", `zone = "1"\n${FIRST}`) },
    {
      config:
        thing("a", `zone = "2"\n${FIRST}`) + thing("b", 'value = mock_thing.a.id\nfail = "create"'),
      status: "partially_applied",
      calls: ["create a", "create b"],
    },
    {
      config: thing("a", `zone = "2"\n${FIRST}`) + thing("b", "value = mock_thing.a.id"),
      calls: ["create b", "delete a"],
      sorted: true,
    },
  ]);
  scenario("spreads to what it depends on", [
    { config: thing("a", 'zone = "1"') + thing("b", `zone = mock_thing.a.id\n${FIRST}`) },
    {
      config: thing("a", 'zone = "2"') + thing("b", `zone = mock_thing.a.id\n${FIRST}`),
      plan: [
        "replace create-first mock_thing.a replace-because-cannot-update",
        "replace create-first mock_thing.b replace-because-cannot-update",
      ],
      calls: ["create a", "create b", "delete b", "delete a"],
      check: ({ changes }) => {
        const forced = changes.find(
          ({ address }) => address === "mock_thing.a",
        )?.createBeforeDestroyFor;
        if (forced !== "mock_thing.b") throw new Error(`forced by ${forced}`);
      },
    },
  ]);
  scenario("spreads through locals and modules", [
    {
      config: {
        "main.tf": `${thing("a", 'zone = "1"')}module "m" {\n  source = "./m"\n  zone = local.z\n}\nlocals { z = mock_thing.a.id }\n`,
        "m/main.tf": `variable "zone" {}\n${thing("b", `zone = var.zone\n${FIRST}`)}`,
      },
    },
    {
      config: {
        "main.tf": `${thing("a", 'zone = "2"')}module "m" {\n  source = "./m"\n  zone = local.z\n}\nlocals { z = mock_thing.a.id }\n`,
        "m/main.tf": `variable "zone" {}\n${thing("b", `zone = var.zone\n${FIRST}`)}`,
      },
      calls: ["create a", "create b", "delete b", "delete a"],
    },
  ]);
  scenario("does not spread to dependents", [
    { config: thing("a", `zone = "1"\n${FIRST}`) + thing("b", "zone = mock_thing.a.id") },
    {
      config: thing("a", `zone = "2"\n${FIRST}`) + thing("b", "zone = mock_thing.a.id"),
      plan: [
        "replace create-first mock_thing.a replace-because-cannot-update",
        "replace mock_thing.b replace-because-cannot-update",
      ],
      calls: ["create a", "delete b", "create b", "delete a"],
    },
  ]);
  scenario("is kept for when there is no configuration", [
    { config: thing("a") + thing("b", `value = mock_thing.a.id\n${FIRST}`) },
    { config: "", calls: ["delete b", "delete a"], state: [] },
  ]);
  scenario("brings the old object back when its replacement cannot be made", [
    { config: thing("a", `zone = "1"\n${FIRST}`) },
    {
      config: thing("a", `zone = "2"\nfail = "create"\n${FIRST}`),
      status: "failed",
      calls: ["create a"],
      left: ["failed mock_thing.a", "skipped mock_thing.a because mock_thing.a"],
      state: ["mock_thing.a"],
    },
  ]);
  scenario("keeps an old object that cannot be deleted, and ends it the next time", [
    { config: thing("a", `zone = "1"\nfail = "delete"\n${FIRST}`) },
    {
      config: thing("a", `zone = "2"\n${FIRST}`),
      status: "partially_applied",
      calls: ["create a", "delete a"],
      state: ["mock_thing.a", "mock_thing.a (deposed)"],
    },
    {
      config: thing("a", `zone = "2"\n${FIRST}`),
      status: "failed",
      calls: ["delete a"],
      state: ["mock_thing.a", "mock_thing.a (deposed)"],
    },
  ]);
  scenario("survives the deletion of a dependency in the same run", [
    { config: thing("a") + thing("b", `zone = mock_thing.a.id\n${FIRST}`) },
    {
      config: thing("b", `zone = "x"\n${FIRST}`),
      calls: ["create b", "delete b", "delete a"],
      state: ["mock_thing.b"],
    },
  ]);
});

describe("order with old and new dependencies", () => {
  scenario("turns a dependency around", [
    { config: thing("a") + thing("b", "value = mock_thing.a.id") },
    {
      config: thing("a", "value = mock_thing.b.id") + thing("b"),
      plan: ["update mock_thing.a", "update mock_thing.b"],
      calls: ["update b", "update a"],
    },
  ]);
  scenario("turns a dependency around while both are replaced", [
    { config: thing("a", 'zone = "1"') + thing("b", "zone = mock_thing.a.id") },
    {
      config: thing("a", "zone = mock_thing.b.id") + thing("b", 'zone = "1"'),
      calls: ["delete b", "create b", "delete a", "create a"],
    },
  ]);
  scenario("inserts an object between two others", [
    { config: thing("a") + thing("c", "value = mock_thing.a.id") },
    {
      config:
        thing("a") + thing("b", "value = mock_thing.a.id") + thing("c", "value = mock_thing.b.id"),
      calls: ["create b", "update c"],
    },
  ]);
  scenario("takes an object out from between two others", [
    {
      config:
        thing("a") + thing("b", "value = mock_thing.a.id") + thing("c", "value = mock_thing.b.id"),
    },
    { config: thing("a") + thing("c", "value = mock_thing.a.id"), calls: ["update c", "delete b"] },
  ]);
  scenario("moves a dependent to a new object and drops the old one", [
    { config: thing("a") + thing("d", "value = mock_thing.a.id") },
    {
      config: thing("b") + thing("d", "value = mock_thing.b.id"),
      calls: ["create b", "update d", "delete a"],
    },
  ]);
  scenario("waits for everything in a module", [
    {
      config: {
        "main.tf": `module "m" { source = "./m" }\n${thing("z", "depends_on = [module.m]")}`,
        "m/main.tf": thing("a") + thing("b", "value = mock_thing.a.id"),
      },
      calls: ["create a", "create b", "create z"],
    },
  ]);
  scenario("lets a whole module wait", [
    {
      config: {
        "main.tf": `module "m" {\n  source = "./m"\n  depends_on = [mock_thing.z]\n}\n${thing("z")}`,
        "m/main.tf": thing("a"),
      },
      calls: ["create z", "create a"],
    },
  ]);
  scenario("destroys a module before what it waited for", [
    {
      config: {
        "main.tf": `module "m" {\n  source = "./m"\n  depends_on = [mock_thing.z]\n}\n${thing("z")}`,
        "m/main.tf": thing("a"),
      },
    },
    { config: "", calls: ["delete a", "delete z"], state: [] },
  ]);
});

const look = (query: string): string => `data "mock_look" "x" {\n  query = ${query}\n}\n`;

describe("dependencies that turn round", () => {
  const turned = look('"a"') + thing("a", "value = data.mock_look.x.result");
  scenario("are recorded of a data source that says what it did", [
    { config: look("mock_thing.a.name") + thing("a") },
    // It was read while applying, and is what it is from now on.
    { config: look("mock_thing.a.name") + thing("a") },
    { config: turned, plan: ["update mock_thing.a"], calls: ["update a"] },
    { config: turned, plan: [] },
    { config: "", calls: ["delete a"], state: [] },
  ]);
});

describe("a read that waits for a module", () => {
  const chain =
    thing("a") + thing("b", "value = mock_thing.a.id") + thing("c", "value = mock_thing.b.id");
  const config = (count: number, more = "") => ({
    "main.tf": `module "m" {\n  source = "./m"\n  count = ${count}\n}\ndata "mock_look" "x" {\n  query = "q"\n  depends_on = [module.m]\n}\n${more}`,
    "m/main.tf": chain,
  });
  const late = thing("late", "value = data.mock_look.x.result");
  scenario("comes after the end of the last instance of the module", [
    { config: config(1), calls: ["create a", "create b", "create c", "look q"] },
    {
      config: config(0, late),
      calls: ["delete c", "delete b", "delete a", "look q", "create late"],
    },
    { config: config(0, late), plan: [] },
  ]);
});

describe("failure", () => {
  scenario("does what does not depend on it, and says what was skipped", [
    {
      config:
        thing("a", 'fail = "create"') +
        thing("b", "value = mock_thing.a.id") +
        thing("c", "value = mock_thing.b.id") +
        thing("d"),
      status: "partially_applied",
      calls: ["create a", "create d"],
      left: [
        "failed mock_thing.a",
        "skipped mock_thing.b because mock_thing.a",
        "skipped mock_thing.c because mock_thing.a",
      ],
      state: ["mock_thing.d"],
    },
    {
      config:
        thing("a") +
        thing("b", "value = mock_thing.a.id") +
        thing("c", "value = mock_thing.b.id") +
        thing("d"),
      calls: ["create a", "create b", "create c"],
    },
  ]);
  scenario("fails as a whole where nothing was done", [
    { config: thing("a", 'fail = "create"'), status: "failed", calls: ["create a"], state: [] },
  ]);
  scenario("keeps an object whose update failed as it was", [
    { config: thing("a", 'value = "1"') },
    {
      config: thing("a", 'value = "2"\nfail = "update"'),
      status: "failed",
      calls: ["update a"],
      state: ["mock_thing.a"],
    },
    { config: thing("a", 'value = "2"'), plan: ["update mock_thing.a"], calls: ["update a"] },
  ]);
  scenario("keeps an object whose delete failed, and what it depends on", [
    { config: thing("a") + thing("b", 'value = mock_thing.a.id\nfail = "delete"') },
    {
      config: "",
      status: "failed",
      calls: ["delete b"],
      left: ["failed mock_thing.b", "skipped mock_thing.a because mock_thing.b"],
      state: ["mock_thing.a", "mock_thing.b"],
    },
  ]);
  scenario("does not create what could not be destroyed first", [
    { config: thing("a", 'zone = "1"\nfail = "delete"') },
    {
      config: thing("a", 'zone = "2"'),
      status: "failed",
      calls: ["delete a"],
      left: ["failed mock_thing.a", "skipped mock_thing.a because mock_thing.a"],
      state: ["mock_thing.a"],
    },
  ]);
  scenario("saves and reports what is not as it was planned", [
    {
      config: thing("a", 'value = "1"\nfail = "lie"') + thing("b", "value = mock_thing.a.id"),
      status: "partially_applied",
      calls: ["create a"],
      state: ["mock_thing.a (tainted)"],
    },
  ]);
  scenario("takes no local value for a circle that could not be made", [
    {
      config:
        thing("a", 'fail = "create"') +
        "locals { n = mock_thing.a.id }\n" +
        ["c", "d"]
          .map(
            (name) =>
              `check "${name}" {\n  assert {\n    condition = local.n != ""\n    error_message = "no"\n  }\n}\n`,
          )
          .join("") +
        'output "o" { value = local.n }\n',
      status: "failed",
      calls: ["create a"],
      nowhere: ["Circular reference"],
    },
  ]);
  scenario("keeps outputs whose values could not be made", [
    {
      config: `${thing("a", 'value = "1"')}output "o" { value = mock_thing.a.out }`,
      outputs: { o: '"out of 1"' },
    },
    {
      config: `${thing("a", 'value = "2"\nfail = "update"')}output "o" { value = mock_thing.a.out }`,
      status: "failed",
      outputs: { o: '"out of 1"' },
    },
  ]);
  scenario("makes no plan where a provider cannot", [
    { config: thing("a", 'fail = "plan"'), errors: ["Cannot plan"] },
  ]);
});

describe("what is evaluated only when another value is known", () => {
  const late = [
    ["in a loop over it", "{ for k in toset([mock_thing.a.id]) : k => mock_thing.b.id }"],
    ["behind its condition", '{ for k in ["x"] : k => mock_thing.b.id if mock_thing.a.id != "" }'],
    ["behind its key", '{ for k in ["x"] : mock_thing.a.id => mock_thing.b.id }'],
  ] as const;
  for (const [name, tags] of late) {
    scenario(`is waited for ${name}`, [
      {
        config: thing("a") + thing("b") + thing("c", `tags = ${tags}`),
        calls: ["create a", "create b", "create c"],
        check: ({ changes }) => {
          const { dependencies } = changes.find(({ address }) => address === "mock_thing.c") ?? {};
          expect(dependencies?.map(({ address }) => address).toSorted()).toEqual([
            "mock_thing.a",
            "mock_thing.b",
          ]);
        },
      },
    ]);
  }
  scenario("is waited for where `try` may come to it", [
    {
      config:
        thing("a") +
        thing("b") +
        thing("c", 'value = try(tonumber(mock_thing.a.id) > 0 ? "n" : "m", mock_thing.b.id)'),
      calls: ["create a", "create b", "create c"],
    },
  ]);
});

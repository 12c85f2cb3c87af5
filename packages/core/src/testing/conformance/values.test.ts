import { describe, expect } from "vitest";
import { scenario } from "./scenario.ts";

const thing = (name: string, body = ""): string =>
  `resource "mock_thing" "${name}" {\n  name = "${name}"\n${body}\n}\n`;
const look = (name: string, query: string, body = ""): string =>
  `data "mock_look" "${name}" {\n  query = ${query}\n${body}\n}\n`;

describe("data sources", () => {
  scenario("are read while planning where all is known", [
    {
      config: `${look("d", '"q"')}output "o" { value = data.mock_look.d.result }`,
      planCalls: ["look q"],
      plan: [],
      calls: [],
      outputs: { o: '"found q"' },
      state: ["data.mock_look.d"],
    },
  ]);
  scenario("are read during apply where something is unknown", [
    {
      config: `${thing("a")}${look("d", "mock_thing.a.id")}${thing("b", "value = data.mock_look.d.result")}`,
      planCalls: [],
      plan: [
        "create mock_thing.a",
        "create mock_thing.b",
        "read data.mock_look.d read-because-config-unknown",
      ],
      calls: ["create a", "look id-1", "create b"],
    },
  ]);
  scenario("are read while planning once everything is there", [
    { config: `${thing("a")}${look("d", "mock_thing.a.id")}` },
    {
      config: `${thing("a")}${look("d", "mock_thing.a.id")}`,
      planCalls: ["look id-1"],
      plan: [],
      calls: [],
    },
  ]);
  scenario("wait for depends_on where that really changes", [
    { config: `${thing("a", 'value = "1"')}${look("d", '"q"', "depends_on = [mock_thing.a]")}` },
    {
      config: `${thing("a", 'value = "2"')}${look("d", '"q"', "depends_on = [mock_thing.a]")}`,
      planCalls: [],
      plan: ["read data.mock_look.d read-because-dependency-pending", "update mock_thing.a"],
      calls: ["update a", "look q"],
    },
  ]);
  const several = (count: number): string =>
    [
      `resource "mock_thing" "a" {\n  count = ${count}\n  name = "a\${count.index}"\n}\n`,
      look("d", '"q"', "depends_on = [mock_thing.a]"),
      thing("c", 'value = join(",", mock_thing.a[*].id)'),
    ].join("");
  const user = thing("b", 'value = "${data.mock_look.d.result} ${length(mock_thing.a)}"');
  scenario(
    "are read after instances were deleted that they wait for, unlike what stops using these",
    [
      { config: several(2) },
      {
        config: several(1),
        planCalls: [],
        plan: [
          "delete mock_thing.a[1] delete-because-count-index",
          "read data.mock_look.d read-because-dependency-pending",
          "update mock_thing.c",
        ],
        calls: ["update c", "delete a1", "look q"],
      },
      { config: several(1), plan: [] },
    ],
  );
  scenario("are read after such a deletion also where that needs them", [
    { config: several(2) + user },
    {
      config: several(1) + user,
      planCalls: [],
      calls: ["update c", "delete a1", "look q", "update b"],
    },
    { config: several(1) + user, plan: [] },
  ]);
  scenario("do not wait for depends_on that stays as it is", [
    {
      config: `${thing("a")}${look("d", '"q"', "depends_on = [mock_thing.a]")}${thing("b", "value = data.mock_look.d.result")}`,
    },
    {
      config: `${thing("a")}${look("d", '"q"', "depends_on = [mock_thing.a]")}${thing("b", "value = data.mock_look.d.result")}`,
      planCalls: ["look q"],
      plan: [],
    },
  ]);
  scenario("wait for a module that is waited for", [
    {
      config: {
        "main.tf": `module "m" {\n  source = "./m"\n  depends_on = [mock_thing.a]\n}\n${thing("a")}`,
        "m/main.tf": look("d", '"q"'),
      },
      plan: [
        "create mock_thing.a",
        "read module.m.data.mock_look.d read-because-dependency-pending",
      ],
      calls: ["create a", "look q"],
    },
  ]);
  scenario("stop the plan where they cannot be read", [
    { config: look("d", '"fail"'), errors: ["Cannot look"] },
  ]);
  scenario("stop what needs them where they cannot be read during apply", [
    {
      config: `${thing("a", 'value = "x"')}${look("d", 'mock_thing.a.out == "out of x" ? "fail" : "q"')}${thing("b", "value = data.mock_look.d.result")}`,
      status: "partially_applied",
      calls: ["create a", "look fail"],
      left: ["failed data.mock_look.d", "skipped mock_thing.b because data.mock_look.d"],
    },
  ]);
  scenario("leave the state without showing in a plan", [
    { config: look("d", '"q"') + thing("a") },
    {
      config: thing("a") + thing("b"),
      plan: ["create mock_thing.b"],
      state: ["mock_thing.a", "mock_thing.b"],
    },
  ]);
  scenario("exist as often as they are said to", [
    {
      config: `${look("d", '"q${count.index}"', "count = 2")}output "o" { value = data.mock_look.d[*].result }`,
      planCalls: ["look q0", "look q1"],
      outputs: { o: '["found q0","found q1"]' },
    },
  ]);
});

describe("unknown values", () => {
  scenario("flow through expressions, and what is known of them counts", [
    {
      config: `${thing("a")}output "known" { value = length([mock_thing.a.id]) }`,
      check: ({ outputs }) => expect(outputs[0]?.after?.asNumber()).toBe(1),
      outputs: { known: "1" },
    },
  ]);
  scenario("cannot say how many instances there are", [
    {
      config: thing("a") + thing("b", "count = length(mock_thing.a.id)"),
      errors: ["Invalid count argument"],
    },
  ]);
  scenario("cannot be keys", [
    {
      config: `${thing("a")}resource "mock_thing" "b" {\n  for_each = toset([mock_thing.a.id])\n  name = each.key\n}\n`,
      errors: ["Invalid for_each argument"],
    },
  ]);
  scenario("can be values of for_each", [
    {
      config: `${thing("a")}resource "mock_thing" "b" {\n  for_each = { x = mock_thing.a.id }\n  name = each.key\n  value = each.value\n}\noutput "o" { value = mock_thing.b["x"].value }`,
      calls: ["create a", "create x"],
      outputs: { o: '"id-1"' },
    },
  ]);
  scenario("replace where a replacing attribute becomes unknown", [
    { config: thing("a", 'zone = "1"') + thing("b", "zone = mock_thing.a.id") },
    {
      config: thing("a", 'zone = "2"') + thing("b", "zone = mock_thing.a.id"),
      check: ({ changes }) => {
        const cause = changes.find(({ address }) => address === "mock_thing.b")?.causes[0];
        expect({ replaces: cause?.replaces, because: cause?.because }).toEqual({
          replaces: true,
          because: ["mock_thing.a"],
        });
      },
    },
  ]);
  scenario("update where they turn out to be what was there", [
    { config: thing("a", 'zone = "1"') + thing("b", "value = mock_thing.a.out") },
    {
      config: thing("a", 'zone = "2"') + thing("b", "value = mock_thing.a.out"),
      plan: ["replace mock_thing.a replace-because-cannot-update", "update mock_thing.b"],
      // The value is the same in the end, so that nothing is left to do.
      calls: ["delete a", "create a"],
    },
  ]);
});

describe("secrets", () => {
  scenario("mark what the schema says", [
    {
      config: thing("a", 'secret = "s3"'),
      check: ({ changes }) => expect(changes[0]?.after?.containsMarks).toBe(true),
    },
  ]);
  scenario("go where the configuration takes them", [
    {
      config: `variable "p" {\n  default = "s3"\n  sensitive = true\n}\n${thing("a", "value = var.p")}${thing("b", "value = mock_thing.a.value")}`,
      check: ({ changes }) => expect(changes.every(({ after }) => after?.containsMarks)).toBe(true),
    },
    {
      config: `variable "p" {\n  default = "s3"\n  sensitive = true\n}\n${thing("a", "value = var.p")}${thing("b", "value = mock_thing.a.value")}`,
      plan: [],
    },
  ]);
  scenario("leave the root module only where that is declared", [
    {
      config: `${thing("a", 'secret = "s3"')}output "o" { value = mock_thing.a.secret }`,
      errors: ["Output refers to sensitive values"],
    },
  ]);
  scenario("are published as such", [
    {
      config: `${thing("a", 'secret = "s3"')}output "o" {\n  value = mock_thing.a.secret\n  sensitive = true\n}\n`,
      outputs: { o: '"s3"' },
    },
  ]);
  scenario("cannot be keys", [
    {
      config:
        'variable "p" {\n  default = ["x"]\n  sensitive = true\n}\nresource "mock_thing" "a" {\n  for_each = toset(var.p)\n  name = each.key\n}\n',
      errors: ["Invalid for_each argument"],
    },
  ]);
  scenario("update in the record alone where only they change", [
    { config: `variable "p" { default = "v" }\n${thing("a", "value = var.p")}` },
    {
      config: `variable "p" {\n  default = "v"\n  sensitive = true\n}\n${thing("a", "value = var.p")}`,
      plan: ["update mock_thing.a"],
      calls: [],
    },
  ]);
});

describe("conditions", () => {
  const condition = (kind: string, test: string): string =>
    `lifecycle {\n  ${kind} {\n    condition = ${test}\n    error_message = "no good"\n  }\n}`;
  scenario("before: stop the plan", [
    {
      config: thing("a", condition("precondition", 'terraform.workspace == ""')),
      errors: ["Resource precondition failed"],
    },
  ]);
  scenario("before: are decided during apply where they are unknown", [
    {
      config: thing("a") + thing("b", condition("precondition", 'mock_thing.a.out == "x"')),
      status: "partially_applied",
      calls: ["create a"],
      left: ["failed mock_thing.b"],
    },
  ]);
  scenario("after: stop the plan where the result is known", [
    {
      config: thing("a", `value = "1"\n${condition("postcondition", 'self.value == "2"')}`),
      errors: ["Resource postcondition failed"],
    },
  ]);
  scenario("after: keep the object and stop what needs it", [
    {
      config:
        thing("a", condition("postcondition", 'self.out == "x"')) +
        thing("b", "value = mock_thing.a.id"),
      status: "failed",
      calls: ["create a"],
      left: ["failed mock_thing.a", "skipped mock_thing.b because mock_thing.a"],
      state: ["mock_thing.a"],
    },
  ]);
  scenario("of checks warn only", [
    {
      config: `${thing("a")}check "c" {\n  assert {\n    condition = terraform.workspace == ""\n    error_message = "no good"\n  }\n}\n`,
      plan: ["create mock_thing.a"],
      calls: ["create a"],
      check: ({ checks }) => expect(checks.map(({ status }) => status)).toEqual(["fail"]),
    },
  ]);
  const checked = (query: string): string =>
    `check "c" {\n  data "mock_look" "d" {\n    query = ${query}\n  }\n  assert {\n    condition = data.mock_look.d.result == "found q"\n    error_message = "no good"\n  }\n}\n`;
  scenario("of checks read their data source again when everything else is done", [
    {
      config: checked('"q"') + thing("a"),
      plan: ["create mock_thing.a", "read data.mock_look.d read-because-check-nested"],
      planCalls: ["look q"],
      calls: ["create a", "look q"],
      state: ["data.mock_look.d", "mock_thing.a"],
    },
    { config: checked('"q"') + thing("a"), plan: [], planCalls: ["look q"], calls: [] },
    { config: checked('"q"'), calls: ["delete a", "look q"] },
  ]);
  scenario("of checks read a data source of unknown arguments when everything else is done", [
    {
      config:
        checked('replace(mock_thing.n.out, "out of nothing", "q")') +
        thing("n") +
        thing("b", "value = mock_thing.n.id") +
        thing("c", "value = mock_thing.b.id"),
      calls: ["create n", "create b", "create c", "look q"],
    },
  ]);
  // With options, as a plan after it is not empty: it reads once more.
  const options = {};
  const unread = {
    address: "check.c",
    kind: "check",
    index: 0,
    status: "fail",
    message: "Cannot look",
  };
  scenario(
    "of checks warn only where the data source cannot be read, which is read again at the end",
    [
      {
        options,
        config: checked('"fail"') + thing("a"),
        plan: ["create mock_thing.a", "read data.mock_look.d read-because-check-nested"],
        planCalls: ["look fail"],
        calls: ["create a", "look fail"],
        state: ["mock_thing.a"],
        check: ({ checks }) => expect(checks).toEqual([unread]),
      },
      {
        config: checked('"q"') + thing("a"),
        plan: [],
        check: ({ checks }) => expect(checks.map(({ status }) => status)).toEqual(["pass"]),
      },
      // What was read before stays, and does not make the check pass.
      {
        options,
        config: checked('"fail"') + thing("a"),
        plan: ["read data.mock_look.d read-because-check-nested"],
        state: ["data.mock_look.d", "mock_thing.a"],
        check: ({ checks }) => expect(checks).toEqual([unread]),
      },
    ],
  );
  const inModule = `${checked('"fail"')}${thing("b")}`;
  scenario("of checks in a module hold up nothing that depends on the module", [
    {
      config: {
        "main.tf": `module "m" {\n  source = "./m"\n}\n${thing("a", "depends_on = [module.m]")}`,
        "m/main.tf": inModule,
      },
      plan: [
        "create mock_thing.a",
        "create module.m.mock_thing.b",
        "read module.m.data.mock_look.d read-because-check-nested",
      ],
      calls: ["create b", "create a", "look fail"],
      state: ["mock_thing.a", "module.m.mock_thing.b"],
      options,
    },
  ]);
  scenario("of checks hold up no end of what the data source referred to", [
    { config: checked('mock_thing.x.id == "" ? "fail" : "q"') + thing("x") },
    {
      config: checked('"fail"') + thing("a"),
      plan: [
        "create mock_thing.a",
        "delete mock_thing.x delete-because-no-resource-config",
        "read data.mock_look.d read-because-check-nested",
      ],
      state: ["data.mock_look.d", "mock_thing.a"],
      options,
    },
    {
      config: checked('"q"') + thing("a"),
      plan: [],
      state: ["data.mock_look.d", "mock_thing.a"],
    },
  ]);
  scenario("of checks warn only where the data source cannot be read during apply", [
    {
      options,
      config: thing("a", 'value = "fail"') + checked('replace(mock_thing.a.out, "out of ", "")'),
      plan: ["create mock_thing.a", "read data.mock_look.d read-because-config-unknown"],
      state: ["mock_thing.a"],
      check: ({ checks }) => expect(checks.map(({ status }) => status)).toEqual(["unknown"]),
    },
  ]);
  scenario("of outputs stop the plan", [
    {
      config:
        'output "o" {\n  value = 1\n  precondition {\n    condition = terraform.workspace == ""\n    error_message = "no good"\n  }\n}\n',
      errors: ["Module output value precondition failed"],
    },
  ]);
  scenario("of variables stop the plan", [
    {
      config:
        'variable "v" {\n  default = 1\n  validation {\n    condition = var.v > 2\n    error_message = "no good"\n  }\n}\n',
      errors: ["Invalid value for variable"],
    },
  ]);
  scenario("of variables say nothing where what the value is made of is refused", [
    {
      config:
        'variable "v" {\n  default = 1\n  validation {\n    condition = var.v > 2\n    error_message = "no good"\n  }\n}\n' +
        'variable "w" {\n  default = 1\n  validation {\n    condition = var.w + var.v > 9\n    error_message = "neither"\n  }\n}\n',
      errors: ["Invalid value for variable"],
    },
  ]);
  scenario("of variables wait for what those of other variables need that they refer to", [
    {
      config:
        'variable "v" {\n  default = "w"\n  validation {\n    condition = var.v != mock_thing.a.id\n    error_message = "no good"\n  }\n}\n' +
        'variable "b" {\n  default = "x"\n  validation {\n    condition = var.b != var.v\n    error_message = "no"\n  }\n}\n' +
        thing("a") +
        thing("c", "value = var.b"),
      sorted: true,
      calls: ["create a", "create c"],
    },
  ]);
  const held = `variable "v" {
  default = 1
  validation {
    condition     = var.v == 1 && mock_thing.a.out == "never"
    error_message = "no good"
  }
}
module "m" {
  count  = var.v
  source = "./m"
}
module "k" {
  source = "./m"
}
`;
  scenario("of variables that fail in an apply hold back all that uses these", [
    {
      config: {
        "main.tf": [
          held,
          thing("a", 'value = "x"'),
          thing("argument", "value = var.v"),
          thing("counted", "count = var.v"),
          thing("keyed", "for_each = toset([for one in range(var.v) : tostring(one)])"),
          thing("asked", condition("precondition", "var.v == 1")),
          thing("checked", condition("postcondition", 'self.name != "" && var.v == 1')),
          'output "o" { value = var.v }\n',
          look("d", '"q"', "count = var.v\n  depends_on = [mock_thing.a]"),
        ].join(""),
        "m/main.tf": thing("in"),
      },
      outputs: { o: "1" },
      status: "partially_applied",
      sorted: true,
      calls: ["create a", "create in"],
      state: ["mock_thing.a", "module.k.mock_thing.in"],
    },
  ]);
  scenario("hold for every instance by itself", [
    {
      config: thing("a", `count = 2\n${condition("precondition", "count.index < 1")}`),
      errors: ["Resource precondition failed"],
    },
  ]);
});

describe("ignore_changes", () => {
  const ignore = (what: string): string => `lifecycle {\n  ignore_changes = ${what}\n}`;
  scenario("keeps an attribute as it is", [
    { config: thing("a", `value = "1"\n${ignore("[value]")}`) },
    { config: thing("a", `value = "2"\n${ignore("[value]")}`), plan: [], calls: [] },
  ]);
  scenario("keeps one element of a map", [
    { config: thing("a", `tags = { x = "1", y = "1" }\n${ignore('[tags["x"]]')}`) },
    { config: thing("a", `tags = { x = "2", y = "1" }\n${ignore('[tags["x"]]')}`), plan: [] },
    {
      config: thing("a", `tags = { x = "2", y = "2" }\n${ignore('[tags["x"]]')}`),
      plan: ["update mock_thing.a"],
    },
  ]);
  scenario("keeps everything", [
    { config: thing("a", `value = "1"\n${ignore("all")}`) },
    { config: thing("a", `value = "2"\nzone = "2"\n${ignore("all")}`), plan: [] },
  ]);
  scenario("does not stop a replacement for another reason", [
    { config: thing("a", `value = "1"\nzone = "1"\n${ignore("[value]")}`) },
    {
      config: thing("a", `value = "2"\nzone = "2"\n${ignore("[value]")}`),
      plan: ["replace mock_thing.a replace-because-cannot-update"],
    },
  ]);
  scenario("does not replace for an ignored attribute", [
    { config: thing("a", `zone = "1"\n${ignore("[zone]")}`) },
    { config: thing("a", `zone = "2"\n${ignore("[zone]")}`), plan: [] },
  ]);
  scenario("counts when the object is created", [
    {
      config: `${thing("a", `value = "1"\n${ignore("[value]")}`)}output "o" { value = mock_thing.a.value }`,
      outputs: { o: '"1"' },
    },
  ]);
});

describe("parts of a plan", () => {
  const all = thing("a", 'value = "1"') + thing("b", "value = mock_thing.a.out") + thing("c");
  scenario("targets bring what they depend on", [
    {
      config: all,
      options: { targets: ["mock_thing.b"] },
      plan: ["create mock_thing.a", "create mock_thing.b"],
      calls: ["create a", "create b"],
    },
  ]);
  scenario("targets leave dependents alone", [
    { config: all, options: { targets: ["mock_thing.a"] }, plan: ["create mock_thing.a"] },
  ]);
  scenario("targets do not end what is not named", [
    { config: all },
    {
      config: thing("a", 'value = "2"'),
      options: { targets: ["mock_thing.a"] },
      plan: ["update mock_thing.a"],
    },
  ]);
  scenario("targets can be instances", [
    {
      config: thing("a", "count = 3"),
      options: { targets: ["mock_thing.a[1]"] },
      plan: ["create mock_thing.a[1]"],
      state: ["mock_thing.a[1]"],
    },
  ]);
  scenario("targets can be modules", [
    {
      config: {
        "main.tf": `module "m" { source = "./m" }\n${thing("z")}`,
        "m/main.tf": thing("a"),
      },
      options: { targets: ["module.m"] },
      plan: ["create module.m.mock_thing.a"],
    },
  ]);
  scenario("excludes leave out what depends on them", [
    { config: all, options: { excludes: ["mock_thing.a"] }, plan: ["create mock_thing.c"] },
  ]);
  scenario("excludes keep what they depend on", [
    {
      config: all,
      options: { excludes: ["mock_thing.b"] },
      plan: ["create mock_thing.a", "create mock_thing.c"],
    },
  ]);
  scenario("excludes do not end what they name", [
    { config: all },
    {
      config: thing("a", 'value = "1"'),
      options: { excludes: ["mock_thing.c"] },
      plan: ["delete mock_thing.b delete-because-no-resource-config"],
    },
  ]);
  scenario("refuse what is no address", [
    {
      config: all,
      options: { targets: ["what is this"] },
      errors: ["Extra characters after expression"],
    },
  ]);
});

describe("outputs", () => {
  scenario("come and go", [
    { config: 'output "a" { value = 1 }', outputs: { a: "1" } },
    { config: 'output "b" { value = 2 }', outputs: { b: "2" } },
    { config: "", outputs: {} },
  ]);
  scenario("of modules are seen by the module around", [
    {
      config: {
        "main.tf":
          'module "m" {\n  source = "./m"\n  for_each = toset(["x", "y"])\n  name = each.key\n}\noutput "o" { value = { for k, m in module.m : k => m.id } }\n',
        "m/main.tf":
          'variable "name" {}\nresource "mock_thing" "a" { name = var.name }\noutput "id" { value = mock_thing.a.id }\n',
      },
      outputs: { o: '{"x":"id-1","y":"id-2"}' },
    },
  ]);
  scenario("without a value are none", [{ config: 'output "o" { value = null }', outputs: {} }]);
  scenario("alone make a plan worth applying", [
    { config: thing("a") },
    {
      config: `${thing("a")}output "o" { value = mock_thing.a.name }`,
      plan: [],
      outputs: { o: '"a"' },
    },
  ]);
});

describe("what a plan leaves out", () => {
  const before =
    thing("a", 'for_each = toset(["x", "y"])') +
    thing("b", "value = length(mock_thing.a)") +
    thing("c", "value = mock_thing.b.id");
  scenario("keeps what it needs by record, though nothing declares that any more", [
    { config: before },
    {
      config: thing("b") + thing("c", "value = mock_thing.b.id"),
      options: { excludes: ["mock_thing.b"] },
      plan: [],
      calls: [],
      state: ['mock_thing.a["x"]', 'mock_thing.a["y"]', "mock_thing.b", "mock_thing.c"],
    },
    {
      config: thing("b") + thing("c", "value = mock_thing.b.id"),
      calls: ["update b", "delete a", "delete a"],
    },
  ]);
  scenario("keeps single instances that it needs, and lets others go", [
    {
      config: thing("a", "count = 2") + thing("b", "value = mock_thing.a[1].id") + thing("c"),
    },
    {
      config: thing("a", "count = 0") + thing("b"),
      options: { excludes: ["mock_thing.b"] },
      plan: [
        "delete mock_thing.a[0] delete-because-count-index",
        "delete mock_thing.c delete-because-no-resource-config",
      ],
      state: ["mock_thing.a[1]", "mock_thing.b"],
    },
  ]);
  scenario("keeps what is needed by what it needs", [
    {
      config:
        thing("a") + thing("b", "value = mock_thing.a.id") + thing("c", "value = mock_thing.b.id"),
    },
    {
      config: thing("c"),
      options: { excludes: ["mock_thing.c"] },
      plan: [],
      state: ["mock_thing.a", "mock_thing.b", "mock_thing.c"],
    },
  ]);
});

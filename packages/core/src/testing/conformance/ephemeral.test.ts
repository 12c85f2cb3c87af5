import { getAttribute } from "@stackwright/cty";
import { describe, expect } from "vitest";
import type { MockCloud } from "./mock-provider.ts";
import { scenario } from "./scenario.ts";

const thing = (name: string, body = ""): string =>
  `resource "mock_thing" "${name}" {\n  name = "${name}"\n${body}\n}\n`;
const lease = (name: string, body = "", label = `"${name}"`): string =>
  `ephemeral "mock_lease" "${name}" {\n  name = ${label}\n${body}\n}\n`;
const told = (from: string, version = 1): string =>
  `token_wo = ${from}\ntoken_version = ${version}`;
const secretOf = (name: string): string => `ephemeral.mock_lease.${name}.secret`;

const SECRETS = ["secret-of-"];
const allClosed = (cloud: MockCloud): void => expect([...cloud.leases]).toEqual([]);

describe("ephemeral resources", () => {
  scenario("are opened while planning and again while applying, and are nowhere afterwards", [
    {
      config: `${lease("l")}${thing("a", told(secretOf("l")))}`,
      planCalls: ["open l", "close l"],
      plan: ["create mock_thing.a"],
      // What is null in the plan is no secret there.
      check: ({ changes }) => {
        const { after } = changes[0] ?? {};
        expect(after && getAttribute(after, "token_wo").containsMarks).toBe(false);
      },
      calls: ["open l", "create a", "close l"],
      state: ["mock_thing.a"],
      nowhere: SECRETS,
      after: (cloud) => expect(cloud.told.get("a")).toBe("secret-of-l"),
    },
    {
      config: `${lease("l")}${thing("a", told(secretOf("l")))}`,
      planCalls: ["open l", "close l"],
      plan: [],
      calls: [],
      nowhere: SECRETS,
    },
    {
      config: `${lease("l")}${thing("a", told(secretOf("l"), 2))}`,
      plan: ["update mock_thing.a"],
      calls: ["open l", "update a", "close l"],
      nowhere: SECRETS,
    },
  ]);
  scenario("are opened during apply where their configuration is not known before", [
    {
      config: `${thing("a")}${lease("l", "", "mock_thing.a.id")}${thing("b", told(secretOf("l")))}`,
      planCalls: [],
      plan: ["create mock_thing.a", "create mock_thing.b"],
      calls: ["create a", "open id-1", "create b", "close id-1"],
      nowhere: SECRETS,
    },
    {
      config: `${thing("a")}${lease("l", "", "mock_thing.a.id")}`,
      planCalls: ["open id-1", "close id-1"],
    },
  ]);
  scenario("are opened during apply where what they explicitly depend on changes", [
    {
      config: `${thing("a")}${lease("l", "depends_on = [mock_thing.a]")}${thing("b", told(secretOf("l")))}`,
      planCalls: [],
      calls: ["create a", "open l", "create b", "close l"],
    },
    {
      config: `${thing("a")}${lease("l", "depends_on = [mock_thing.a]")}${thing("b", told(secretOf("l")))}`,
      planCalls: ["open l", "close l"],
      plan: [],
    },
  ]);
  scenario("are not opened during apply where nothing that is done needs them", [
    {
      config: `${lease("l")}${thing("a")}`,
      planCalls: ["open l", "close l"],
      calls: ["create a"],
    },
  ]);
  scenario("are closed after the last of their users, and before the rest goes on", [
    {
      config: `${lease("l")}${thing("a", told(secretOf("l")))}${thing("b", `${told(secretOf("l"))}\nvalue = mock_thing.a.id`)}${thing("c", "value = mock_thing.b.id")}`,
      calls: ["open l", "create a", "create b", "close l", "create c"],
    },
  ]);
  scenario("have instances, of which an apply opens those that are needed", [
    {
      config: `ephemeral "mock_lease" "l" {\n  for_each = toset(["x", "y"])\n  name = each.key\n}\n${thing("a", told('ephemeral.mock_lease.l["y"].secret'))}`,
      planCalls: ["open x", "open y", "close x", "close y"],
      calls: ["open y", "create a", "close y"],
      after: (cloud) => expect(cloud.told.get("a")).toBe("secret-of-y"),
    },
    {
      config: `ephemeral "mock_lease" "l" {\n  count = 0\n  name = "n"\n}\n${thing("a", told("one(ephemeral.mock_lease.l[*].secret)", 2))}`,
      planCalls: [],
      plan: ["update mock_thing.a"],
      calls: ["update a"],
    },
  ]);
  scenario("are opened all for who looks at all of them", [
    {
      config: `ephemeral "mock_lease" "l" {\n  count = 2\n  name = "n\${count.index}"\n}\n${thing("a", told('join(",", ephemeral.mock_lease.l[*].secret)'))}`,
      calls: ["open n0", "open n1", "create a", "close n0", "close n1"],
      after: (cloud) => expect(cloud.told.get("a")).toBe("secret-of-n0,secret-of-n1"),
    },
  ]);
  scenario("are made from one another, and closed the other way round", [
    {
      config: `${lease("outer", `note = ${secretOf("inner")}`)}${lease("inner")}${thing("a", told(secretOf("outer")))}`,
      planCalls: ["open inner", "open outer", "close outer", "close inner"],
      calls: ["open inner", "open outer", "create a", "close outer", "close inner"],
      nowhere: SECRETS,
    },
  ]);
  scenario("keep the order of what they are made from", [
    {
      config: `${thing("a")}${lease("l", "note = mock_thing.a.id")}${thing("b", told(secretOf("l")))}`,
      calls: ["create a", "open l", "create b", "close l"],
    },
    {
      config: `${thing("a", 'zone = "z"')}${lease("l", "note = mock_thing.a.id")}${thing("b", `${told(secretOf("l"))}\nzone = "z"`)}`,
      plan: [
        "replace mock_thing.a replace-because-cannot-update",
        "replace mock_thing.b replace-because-cannot-update",
      ],
      calls: ["delete b", "delete a", "create a", "open l", "create b", "close l"],
    },
    {
      config: `${thing("a", 'zone = "z"')}${lease("l", "note = mock_thing.a.id")}${thing("b", `${told(secretOf("l"))}\nzone = "z"`)}`,
      options: { mode: "destroy" },
      calls: ["delete b", "delete a"],
      state: [],
    },
  ]);
  scenario("let create-before-destroy spread through them", [
    {
      config: `${thing("a")}${lease("l", "note = mock_thing.a.id")}${thing("b", `${told(secretOf("l"))}\nlifecycle { create_before_destroy = true }`)}`,
    },
    {
      config: `${thing("a", 'zone = "z"')}${lease("l", "note = mock_thing.a.id")}${thing("b", `${told(secretOf("l"))}\nzone = "z"\nlifecycle { create_before_destroy = true }`)}`,
      plan: [
        "replace create-first mock_thing.a replace-because-cannot-update",
        "replace create-first mock_thing.b replace-because-cannot-update",
      ],
      calls: ["create a", "open l", "create b", "close l", "delete b", "delete a"],
    },
  ]);
  scenario("with targets are opened where a target needs them", [
    {
      config: `${lease("l")}${lease("m")}${thing("a", told(secretOf("l")))}${thing("b", told(secretOf("m")))}`,
      options: { targets: ["mock_thing.a"] },
      planCalls: ["open l", "close l"],
      calls: ["open l", "create a", "close l"],
    },
  ]);
  scenario("may be used by checks", [
    {
      config: `${thing("a")}${lease("l", "note = mock_thing.a.id")}check "c" {\n  assert {\n    condition = ${secretOf("l")} == "secret-of-l"\n    error_message = "no"\n  }\n}\n`,
      planCalls: [],
      calls: ["create a", "open l", "close l"],
    },
  ]);
  scenario("know whether the run applies", [
    {
      config: `${lease("l", "", 'terraform.applying ? "now" : "then"')}${thing("a", told(secretOf("l")))}`,
      planCalls: ["open then", "close then"],
      calls: ["open now", "create a", "close now"],
    },
  ]);
});

describe("ephemeral values in modules", () => {
  const child = `
    variable "in" {
      type      = string
      ephemeral = true
    }
    ${lease("l", "note = var.in")}
    output "out" {
      value     = ephemeral.mock_lease.l.secret
      ephemeral = true
    }
  `;
  scenario("go in and out where that is declared", [
    {
      config: {
        "main.tf": `${lease("first")}module "m" {\n  source = "./m"\n  in = ${secretOf("first")}\n}\nlocals { token = module.m.out }\n${thing("a", told("local.token"))}`,
        "m/main.tf": child,
      },
      planCalls: ["open first", "open l", "close l", "close first"],
      calls: ["open first", "open l", "create a", "close l", "close first"],
      nowhere: SECRETS,
      after: (cloud) => expect(cloud.told.get("a")).toBe("secret-of-l"),
    },
  ]);
  scenario("do not go in where that is not declared", [
    {
      config: {
        "main.tf": `${lease("first")}module "m" {\n  source = "./m"\n  in = ${secretOf("first")}\n}\n`,
        "m/main.tf": 'variable "in" {}\n',
      },
      errors: ["Ephemeral value not allowed"],
      after: allClosed,
    },
  ]);
  scenario("do not come out where that is not declared", [
    {
      config: {
        "main.tf": 'module "m" {\n  source = "./m"\n}\n',
        "m/main.tf": `${lease("l")}output "out" { value = ephemeral.mock_lease.l.name }\n`,
      },
      errors: ["Ephemeral value not allowed"],
      after: allClosed,
    },
  ]);
});

describe("ephemeral values end", () => {
  scenario("as null where they are to be kept", [
    {
      config: `${lease("l")}output "o" {\n  value = { name = "n", of = ephemeralasnull(ephemeral.mock_lease.l.name) }\n}\n`,
      outputs: { o: '{"name":"n","of":null}' },
    },
  ]);
  const refused = (name: string, config: string, summary: string): void =>
    scenario(`in an error ${name}`, [
      { config: lease("l") + config, errors: [summary], after: allClosed },
    ]);
  refused(
    "in an argument that is kept",
    thing("a", `value = ${secretOf("l")}`),
    "Invalid use of ephemeral value",
  );
  refused(
    "in an output of the root",
    'output "o" { value = ephemeral.mock_lease.l.name }',
    "Ephemeral value not allowed",
  );
  refused(
    "in the number of instances",
    `resource "mock_thing" "a" {\n  count = length(${secretOf("l")})\n  name = "a"\n}\n`,
    "Invalid count argument",
  );
  refused(
    "in the keys of instances",
    `resource "mock_thing" "a" {\n  for_each = toset([${secretOf("l")}])\n  name = "a"\n}\n`,
    "Invalid for_each argument",
  );
  refused(
    "in a data source",
    `data "mock_look" "d" { query = ${secretOf("l")} }`,
    "Invalid use of ephemeral value",
  );
});

describe("providers configured from ephemeral values", () => {
  const provider = `provider "mock" {\n  alias = "in"\n  token = ${secretOf("l")}\n}\n`;
  const inside = "provider = mock.in";
  scenario("have them as long as they are asked", [
    {
      config: `${lease("l")}${provider}${thing("a", inside)}${thing("b", `${inside}\nvalue = mock_thing.a.id`)}`,
      planCalls: ["open l", "close l"],
      calls: ["open l", "create a", "create b", "close l"],
      nowhere: SECRETS,
      after: (cloud) => expect(cloud.configured).toEqual(["secret-of-l", "secret-of-l"]),
    },
    {
      config: `${lease("l")}${provider}${thing("a", inside)}`,
      plan: ["delete mock_thing.b delete-because-no-resource-config"],
      planCalls: ["open l", "close l"],
      calls: ["open l", "delete b", "close l"],
    },
    {
      config: `${lease("l")}${provider}${thing("a", inside)}`,
      options: { mode: "refresh-only" },
      planCalls: ["open l", "close l"],
      planOnly: true,
      after: allClosed,
    },
    {
      config: `${lease("l")}${provider}${thing("a", inside)}`,
      options: { mode: "destroy" },
      planCalls: ["open l", "close l"],
      calls: ["open l", "delete a", "close l"],
      state: [],
      nowhere: SECRETS,
    },
  ]);
  scenario("are opened by providers that are configured from others", [
    {
      config: `${lease("l")}${provider}${lease("inner", inside)}${thing("a", told(secretOf("inner")))}`,
      calls: ["open l", "open inner", "create a", "close inner", "close l"],
    },
  ]);
  scenario("have what comes from a module that has no objects, also at the end", [
    {
      config: {
        "main.tf": `module "m" {\n  source = "./m"\n}\nprovider "mock" {\n  alias = "in"\n  token = module.m.out\n}\n${thing("a", inside)}`,
        "m/main.tf": `${lease("l")}output "out" {\n  value = ${secretOf("l")}\n  ephemeral = true\n}\n`,
      },
      calls: ["open l", "create a", "close l"],
    },
    {
      config: {
        "main.tf": `module "m" {\n  source = "./m"\n}\nprovider "mock" {\n  alias = "in"\n  token = module.m.out\n}\n${thing("a", inside)}`,
        "m/main.tf": `${lease("l")}output "out" {\n  value = ${secretOf("l")}\n  ephemeral = true\n}\n`,
      },
      options: { mode: "destroy" },
      planCalls: ["open l", "close l"],
      calls: ["open l", "delete a", "close l"],
      state: [],
    },
  ]);
});

describe("ephemeral resources that go wrong", () => {
  scenario("stop the plan where they cannot be opened", [
    {
      config: `${lease("l", 'fail = "open"')}${thing("a", told(secretOf("l")))}`,
      errors: ["Cannot open"],
    },
  ]);
  scenario("stop the plan where they cannot be closed", [
    { config: lease("l", 'fail = "close"'), errors: ["Cannot close"], after: allClosed },
  ]);
  scenario("are not opened where a precondition fails, and closed where a postcondition does", [
    {
      config: lease(
        "l",
        'lifecycle {\n precondition {\n condition = terraform.workspace == ""\n error_message = "no"\n}\n}',
      ),
      errors: ["Resource precondition failed"],
      after: (cloud) => expect(cloud.calls).toEqual([]),
    },
    {
      config: lease(
        "l",
        'lifecycle {\n postcondition {\n condition = self.secret == "other"\n error_message = "no"\n}\n}',
      ),
      errors: ["Resource postcondition failed"],
      after: (cloud) => expect(cloud.calls).toEqual(["open l", "close l"]),
    },
  ]);
  scenario("stop what needs them during apply, and nothing else", [
    {
      config: `${thing("a")}${lease("l", 'fail = mock_thing.a.id == "id-1" ? "open" : null')}${thing("b", told(secretOf("l")))}${thing("c", "value = mock_thing.b.id")}${thing("d", "value = mock_thing.a.id")}`,
      status: "partially_applied",
      calls: ["create a", "open l", "create d"],
      left: [
        "skipped mock_thing.b because ephemeral.mock_lease.l",
        "skipped mock_thing.c because ephemeral.mock_lease.l",
      ],
    },
  ]);
  scenario("are closed although their users failed", [
    {
      config: `${lease("l")}${thing("a", `${told(secretOf("l"))}\nfail = "create"`)}${thing("b", `${told(secretOf("l"))}\nvalue = mock_thing.a.id`)}`,
      status: "failed",
      calls: ["open l", "create a", "close l"],
      left: ["failed mock_thing.a", "skipped mock_thing.b because mock_thing.a"],
    },
  ]);
  scenario("have no type that nobody has", [
    {
      config: 'ephemeral "mock_nothing" "l" {}\n',
      errors: ["Invalid resource type"],
    },
  ]);
});

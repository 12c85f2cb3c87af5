import { describe, expect } from "vitest";
import type { Plan } from "../../plan/plan.ts";
import { scenario } from "./scenario.ts";

const staged = { staged: true } as const;

/** Keys of `keyed` are known when `a` has its output: at once, or after the stage in which its value changes. */
const keyed = (value: string, more = ""): string => `resource "mock_thing" "a" {
  name  = "a"
  value = "${value}"
}
resource "mock_thing" "keyed" {
  for_each = toset([mock_thing.a.out])
  name     = each.key
}
${more}`;

const left = (plan: Plan): readonly string[] =>
  (plan.deferred ?? []).map(({ address, because }) => `${address}: ${because}`);

const KEYED = "mock_thing.keyed: its for_each depends on values that are known after this stage";

/** Another zone replaces it; `next` needs it, too, and does not wait by itself. */
const base = (zone: string): string => `resource "mock_thing" "base" {
  name = "base"
  zone = "${zone}"
}
resource "mock_thing" "next" {
  name  = "next"
  value = mock_thing.base.id
}
`;

/** Waits for `keyed`, and needs `base` by record. */
const USER = `resource "mock_thing" "user" {
  name  = "user"
  value = "\${mock_thing.base.id} \${length(mock_thing.keyed)}"
}
`;

/** Keys that are known when `a` was replaced, on which the objects of the former keys depend. */
const by = (zone: string): string => `resource "mock_thing" "a" {
  name = "a"
  zone = "${zone}"
}
resource "mock_thing" "keyed" {
  for_each = toset([mock_thing.a.id])
  name     = each.key
}
`;

describe("stages of a plan", () => {
  scenario("a provider that is configured with what an apply gives waits, and is not asked", [
    {
      config: `resource "terraform_data" "secret" { input = "t-1" }
provider "mock" { token = terraform_data.secret.output }
resource "mock_thing" "a" { name = "a" }
data "mock_look" "d" { query = "q" }
resource "terraform_data" "after" { input = mock_thing.a.id }
output "id" { value = mock_thing.a.id }
`,
      options: staged,
      plan: ["create terraform_data.secret"],
      planCalls: [],
      check: (plan) => {
        const because =
          "the configuration of its provider test.local/conf/mock depends on values that are known after this stage";
        expect(left(plan).toSorted()).toEqual([
          `data.mock_look.d: ${because}`,
          `mock_thing.a: ${because}`,
          "terraform_data.after: it depends on mock_thing.a",
        ]);
        expect(plan.outputs).toEqual([]);
      },
      after: ({ configured }) => expect(configured).toEqual([]),
      state: ["terraform_data.secret"],
    },
    {
      config: `resource "terraform_data" "secret" { input = "t-1" }
provider "mock" { token = terraform_data.secret.output }
resource "mock_thing" "a" { name = "a" }
data "mock_look" "d" { query = "q" }
resource "terraform_data" "after" { input = mock_thing.a.id }
output "id" { value = mock_thing.a.id }
`,
      options: staged,
      plan: ["create mock_thing.a", "create terraform_data.after"],
      planCalls: ["look q"],
      check: (plan) => expect(plan.deferred).toBeUndefined(),
      after: ({ configured }) => expect(new Set(configured)).toEqual(new Set(["t-1"])),
      state: ["data.mock_look.d", "mock_thing.a", "terraform_data.after", "terraform_data.secret"],
      outputs: { id: '"id-1"' },
    },
  ]);

  scenario("objects whose block is gone are ended when their provider can be asked", [
    {
      config: `resource "terraform_data" "secret" { input = "t-1" }
provider "mock" { token = terraform_data.secret.output }
resource "mock_thing" "a" {
  count = 2
  name  = "a\${count.index}"
}
resource "mock_thing" "b" { name = "b" }
`,
      options: staged,
    },
    {
      config: `resource "terraform_data" "secret" { input = "t-1" }
provider "mock" { token = terraform_data.secret.output }
resource "mock_thing" "a" {
  count = 2
  name  = "a\${count.index}"
}
resource "mock_thing" "b" { name = "b" }
`,
      options: staged,
    },
    {
      config: `resource "terraform_data" "secret" { input = "t-2" }
provider "mock" { token = terraform_data.secret.output }
resource "mock_thing" "a" {
  count = 1
  name  = "a\${count.index}"
}
`,
      options: staged,
      plan: ["update terraform_data.secret"],
      planCalls: [],
      check: ({ deferred = [] }) =>
        expect(deferred.map(({ address }) => address).toSorted()).toEqual([
          "mock_thing.a",
          "mock_thing.b",
        ]),
      calls: [],
    },
    {
      config: `resource "terraform_data" "secret" { input = "t-2" }
provider "mock" { token = terraform_data.secret.output }
resource "mock_thing" "a" {
  count = 1
  name  = "a\${count.index}"
}
`,
      options: staged,
      plan: [
        "delete mock_thing.a[1] delete-because-count-index",
        "delete mock_thing.b delete-because-no-resource-config",
      ],
      check: (plan) => expect(plan.deferred).toBeUndefined(),
      state: ["mock_thing.a[0]", "terraform_data.secret"],
    },
  ]);

  scenario("of the instances of a provider only those wait that are not known", [
    {
      config: `resource "terraform_data" "t" { input = "late" }
provider "mock" {
  alias    = "by"
  for_each = toset(["x", "y"])
  token    = each.key
}
provider "mock" {
  alias = "late"
  token = terraform_data.t.output
}
resource "mock_thing" "a" {
  for_each = toset(["x", "y"])
  provider = mock.by[each.key]
  name     = each.key
}
resource "mock_thing" "late" {
  provider = mock.late
  name     = "late"
}
`,
      options: staged,
      plan: ['create mock_thing.a["x"]', 'create mock_thing.a["y"]', "create terraform_data.t"],
      check: (plan) =>
        expect(plan.deferred?.map(({ address }) => address)).toEqual(["mock_thing.late"]),
    },
  ]);

  scenario("objects of what waits stay, with what depends on them and their outputs", [
    {
      config: {
        "main.tf": keyed(
          "one",
          `module "m" {
  source = "./m"
  count  = length(mock_thing.keyed)
}
resource "mock_thing" "first" {
  name  = "first"
  value = join("", [for one in mock_thing.keyed : one.id])
  lifecycle { create_before_destroy = true }
}
output "ids" { value = join("", [for one in mock_thing.keyed : one.name]) }
`,
        ),
        "m/main.tf": 'resource "mock_thing" "in" { name = "in" }',
      },
      options: staged,
    },
    {
      config: {
        "main.tf": keyed(
          "one",
          `module "m" {
  source = "./m"
  count  = length(mock_thing.keyed)
}
resource "mock_thing" "first" {
  name  = "first"
  value = join("", [for one in mock_thing.keyed : one.id])
  lifecycle { create_before_destroy = true }
}
output "ids" { value = join("", [for one in mock_thing.keyed : one.name]) }
`,
        ),
        "m/main.tf": 'resource "mock_thing" "in" { name = "in" }',
      },
      outputs: { ids: '"out of one"' },
      state: [
        "mock_thing.a",
        "mock_thing.first",
        'mock_thing.keyed["out of one"]',
        "module.m[0].mock_thing.in",
      ],
    },
    {
      config: {
        "main.tf": keyed(
          "two",
          `module "m" {
  source = "./m"
  count  = length(mock_thing.keyed)
}
resource "mock_thing" "first" {
  name  = "first"
  value = join("", [for one in mock_thing.keyed : one.id])
  lifecycle { create_before_destroy = true }
}
output "ids" { value = join("", [for one in mock_thing.keyed : one.name]) }
`,
        ),
        "m/main.tf": 'resource "mock_thing" "in" { name = "in" }',
      },
      options: staged,
      plan: ["update mock_thing.a"],
      calls: ["update a"],
      outputs: { ids: '"out of one"' },
      state: [
        "mock_thing.a",
        "mock_thing.first",
        'mock_thing.keyed["out of one"]',
        "module.m[0].mock_thing.in",
      ],
    },
  ]);

  scenario("an object that moves to what waits is moved, and one that nothing declares goes", [
    {
      config: `resource "mock_thing" "old" { name = "old" }
resource "mock_thing" "gone" { name = "gone" }
resource "mock_thing" "other" { name = "other" }
`,
    },
    {
      config: keyed(
        "one",
        `moved {
  from = mock_thing.old
  to   = mock_thing.keyed["out of one"]
}
moved {
  from = mock_thing.other
  to   = module.m.mock_thing.in
}
`,
      ),
      options: staged,
      plan: [
        "create mock_thing.a",
        "delete mock_thing.gone delete-because-no-resource-config",
        "delete module.m.mock_thing.in was mock_thing.other delete-because-no-move-target",
      ],
      check: (plan) => {
        expect(left(plan)).toEqual([KEYED]);
        expect(plan.moves).toEqual([
          { from: "mock_thing.old", to: 'mock_thing.keyed["out of one"]' },
        ]);
      },
      state: ["mock_thing.a", 'mock_thing.keyed["out of one"]'],
    },
  ]);

  scenario("what waits, or needs what waits, keeps what it needs by record", [
    {
      config: keyed(
        "one",
        `resource "mock_thing" "base" { name = "base" }
resource "mock_thing" "user" {
  name  = "user"
  value = "\${mock_thing.base.id} \${length(mock_thing.keyed)}"
}
`,
      ),
      options: staged,
    },
    {
      config: keyed(
        "one",
        `resource "mock_thing" "base" { name = "base" }
resource "mock_thing" "user" {
  name  = "user"
  value = "\${mock_thing.base.id} \${length(mock_thing.keyed)}"
}
`,
      ),
    },
    {
      // `base` is no more; `user`, which does not need it any longer, waits, so that its record does.
      config: keyed(
        "two",
        `resource "mock_thing" "user" {
  name  = "user"
  value = "\${length(mock_thing.keyed)}"
}
`,
      ),
      options: staged,
      plan: ["update mock_thing.a"],
      calls: ["update a"],
    },
    {
      config: keyed(
        "two",
        `resource "mock_thing" "user" {
  name  = "user"
  value = "\${length(mock_thing.keyed)}"
}
`,
      ),
      options: staged,
      plan: [
        'create mock_thing.keyed["out of two"]',
        "delete mock_thing.base delete-because-no-resource-config",
        'delete mock_thing.keyed["out of one"] delete-because-each-key',
        "update mock_thing.user",
      ],
    },
  ]);

  scenario("what an object of a later stage needs by record is not replaced before it", [
    {
      config: keyed("one", `${base("b1")}${USER}`),
      options: staged,
    },
    { config: keyed("one", `${base("b1")}${USER}`) },
    {
      config: keyed("two", `${base("b2")}${USER}`),
      options: staged,
      plan: ["update mock_thing.a"],
      calls: ["update a"],
      check: (plan) =>
        expect(left(plan).toSorted()).toEqual([
          "mock_thing.base: it would be replaced, and mock_thing.user, which is left to a later stage, still needs it",
          KEYED,
          "mock_thing.next: it depends on mock_thing.base",
          "mock_thing.user: it depends on mock_thing.keyed",
        ]),
    },
    {
      config: keyed("two", `${base("b2")}${USER}`),
      options: staged,
      plan: [
        'create mock_thing.keyed["out of two"]',
        'delete mock_thing.keyed["out of one"] delete-because-each-key',
        "replace mock_thing.base replace-because-cannot-update",
        "update mock_thing.next",
        "update mock_thing.user",
      ],
      check: (plan) => expect(plan.deferred).toBeUndefined(),
    },
  ]);

  scenario("a replacement that alone gives what waits for it is left, so that the stage is stuck", [
    { config: by("a1"), options: staged },
    { config: by("a1") },
    {
      config: by("a2"),
      options: staged,
      plan: [],
      calls: [],
      check: (plan) =>
        expect(left(plan).toSorted()).toEqual([
          'mock_thing.a: it would be replaced, and mock_thing.keyed["id-1"], which is left to a later stage, still needs it',
          KEYED,
        ]),
    },
  ]);

  scenario("an import, a replacement and a check of what waits wait, too", [
    {
      config: keyed(
        "one",
        `import {
  to = mock_thing.keyed["out of one"]
  id = "id-9"
}
check "all" {
  assert {
    condition     = length(mock_thing.keyed) == 1
    error_message = "not one"
  }
}
`,
      ),
      options: { ...staged, replace: ['mock_thing.keyed["out of one"]'] },
      plan: ["create mock_thing.a"],
      planCalls: [],
      check: (plan) => {
        expect(left(plan)).toEqual([KEYED]);
        expect(plan.checks).toEqual([]);
      },
    },
  ]);

  scenario("errors of what does not wait are reported once, and end the plan", [
    {
      config: keyed("one", 'resource "mock_thing" "b" {\n  name = "b"\n  fail = "plan"\n}\n'),
      options: staged,
      errors: ["Cannot plan"],
    },
  ]);

  scenario("a stage that failed is made again, and its successor after it", [
    {
      config: keyed("one", 'resource "mock_thing" "b" {\n  name = "b"\n  fail = "create"\n}\n'),
      options: staged,
      status: "partially_applied",
      state: ["mock_thing.a"],
    },
    {
      config: keyed("one", 'resource "mock_thing" "b" {\n  name = "b"\n}\n'),
      options: staged,
      plan: ["create mock_thing.b", 'create mock_thing.keyed["out of one"]'],
      check: (plan) => expect(plan.deferred).toBeUndefined(),
    },
  ]);

  scenario("a plan that destroys or refreshes has no stages", [
    { config: keyed("one"), options: staged },
    { config: keyed("one"), options: staged },
    {
      config: keyed("two"),
      options: { mode: "refresh-only", staged: true },
      check: (plan) => expect(plan.deferred).toBeUndefined(),
    },
    {
      config: keyed("two"),
      options: { mode: "destroy", staged: true },
      check: (plan) => expect(plan.deferred).toBeUndefined(),
      state: [],
    },
  ]);
});

import { EMPTY_BUNDLE } from "@stackwright/lang";
import { expect, it } from "vitest";
import { loadConfiguration } from "../configuration/configuration.ts";
import { createEngine } from "../engine.ts";
import { builtinOrigin } from "../providers/builtin-origin.ts";
import { createTestState } from "../testing/state-fixture.ts";

const FILES: Readonly<Record<string, string>> = {
  "main.tf": `
    module "m" {
      source   = "./m"
      for_each = toset(["a", "b"])
    }
    module "s" {
      source = "./m"
    }
  `,
  "m/main.tf": `
    resource "terraform_data" "one" {}
    resource "terraform_data" "many" {
      count = 2
    }
  `,
};

const INCOMPLETE = "Incompletely-matched force-replace resource instance";
const NOTHING = "Force-replace request without effect";

it.each([
  ["module.s.terraform_data.many", INCOMPLETE, ["module.s.terraform_data.many"]],
  ['module.m["a"].terraform_data.many', INCOMPLETE, ['module.m["a"].terraform_data.many']],
  [
    "module.m.terraform_data.many",
    INCOMPLETE,
    ['module.m["a"].terraform_data.many', 'module.m["b"].terraform_data.many'],
  ],
  [
    'module.m["none"].terraform_data.many',
    INCOMPLETE,
    ['module.m["a"].terraform_data.many', 'module.m["b"].terraform_data.many'],
  ],
  // The module is missing as well.
  [
    "terraform_data.many",
    INCOMPLETE,
    [
      'module.m["a"].terraform_data.many',
      'module.m["b"].terraform_data.many',
      "module.s.terraform_data.many",
    ],
  ],
  ["module.s.terraform_data.many[5]", NOTHING, ["module.s.terraform_data.many"]],
  ["module.s.terraform_data.none", NOTHING, []],
])("says of a request for %s: %s", async (request, summary, resources) => {
  const { state } = createTestState();
  const configuration = await loadConfiguration({
    ...EMPTY_BUNDLE,
    names: () => ["main.tf"],
    read: (path) => new TextEncoder().encode(FILES[path] ?? ""),
  });
  const { plan, diagnostics } = await createEngine({ origins: [builtinOrigin()] }).plan({
    state,
    configuration,
    variables: new Map(),
    options: { replace: [request] },
  });
  expect(plan?.changes.every(({ action }) => action === "create")).toBe(true);
  expect(diagnostics).toMatchObject([{ severity: "warning", summary }]);
  const named = [...(diagnostics[0]?.detail ?? "").matchAll(/-replace="(.*)"/g)];
  expect(named.map(([, text]) => text?.replaceAll("\\", ""))).toEqual(
    resources.flatMap((resource) => [`${resource}[0]`, `${resource}[1]`]),
  );
});

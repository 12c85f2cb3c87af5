import { randomBytes } from "node:crypto";
import { systemClock } from "@stackwright/base/clock";
import { EMPTY_BUNDLE, resolveVariables } from "@stackwright/lang";
import { ProviderAddress } from "@stackwright/provider-source";
import { describe, expect, it } from "vitest";
import { executePlan } from "../apply/execute.ts";
import { loadConfiguration } from "../configuration/configuration.ts";
import { hasChanges } from "../plan/plan.ts";
import { builtinOrigin } from "../providers/builtin-origin.ts";
import { createCatalog } from "../providers/catalog.ts";
import { createTestState } from "../testing/state-fixture.ts";
import { createPlan } from "./planner.ts";

const text = `
variable "size" { default = 2 }
resource "terraform_data" "a" {
  count = var.size
  input = "a\${count.index}"
}
resource "terraform_data" "b" {
  for_each = { x = terraform_data.a[0].id, y = terraform_data.a[1].output }
  input = each.value
  triggers_replace = terraform_data.a[0].input
}
output "all" { value = [for b in terraform_data.b : b.output] }
`;

describe("the main line", () => {
  it("plans, applies, and has nothing to do afterwards", async () => {
    const { state, ulid } = createTestState();
    const files = {
      ...EMPTY_BUNDLE,
      names: () => ["main.tf"],
      read: () => new TextEncoder().encode(text),
    };
    const configuration = await loadConfiguration(files);
    expect(configuration.diagnostics).toEqual([]);
    const { values: variables } = resolveVariables(configuration.root.config.variables, []);
    const catalog = createCatalog([builtinOrigin()], (source) => ProviderAddress.parse(source));
    const common = { configuration, variables, catalog, clock: systemClock };
    const planNow = async () =>
      createPlan({ ...common, stack: "s", sessionId: "x", snapshot: await state.read() });
    const first = await planNow();
    expect(first.diagnostics).toEqual([]);
    const plan = first.plan!;
    expect(plan.changes.map(({ address, action }) => `${action} ${address}`)).toEqual([
      "create terraform_data.a[0]",
      "create terraform_data.a[1]",
      'create terraform_data.b["x"]',
      'create terraform_data.b["y"]',
    ]);
    await using hold = await state.acquire();
    const result = await executePlan({ ...common, randomBytes, plan, hold, run: ulid(), ulid });
    expect(result.diagnostics).toEqual([]);
    expect(result.status).toBe("applied");
    const again = await planNow();
    expect(again.diagnostics).toEqual([]);
    expect(hasChanges(again.plan!)).toBe(false);
    expect(again.plan!.changes.filter(({ record }) => record)).toEqual([]);
  });
});

import { expect, it } from "vitest";
import { renderedPlan } from "./rendered-plan.ts";

it("names the attributes of each type of a provider, whatever side they are on", () => {
  const change = (mode: string, type: string, sides: object) => ({
    mode,
    type,
    provider_name: "registry.terraform.io/acme/demo",
    change: { actions: ["create"], before: null, after: null, after_unknown: {}, ...sides },
  });
  const document = JSON.stringify({
    resource_changes: [
      change("managed", "demo_a", { after: { in: 1 }, after_unknown: { id: true } }),
      change("managed", "demo_a", { before: { in: 2, old: 3 } }),
      change("data", "demo_a", { after: { read: true } }),
    ],
    variables: { secret: { value: "not of this form" } },
  });
  const dynamic = { type: "dynamic" };
  expect(JSON.parse(renderedPlan(document))).toEqual({
    plan_format_version: "1.2",
    provider_format_version: "1.0",
    resource_changes: expect.any(Array) as unknown,
    resource_drift: [],
    relevant_attributes: [],
    output_changes: {},
    provider_schemas: {
      "registry.terraform.io/acme/demo": {
        resource_schemas: {
          demo_a: {
            version: 0,
            block: { attributes: { in: dynamic, id: dynamic, old: dynamic } },
          },
        },
        data_source_schemas: {
          demo_a: { version: 0, block: { attributes: { read: dynamic } } },
        },
      },
    },
  });
});

it("keeps all digits of numbers", () => {
  const digits = "123456789012345678901234567890.5";
  const text = `{"output_changes":{"n":{"actions":["create"],"after":${digits}}}}`;
  expect(renderedPlan(text)).toContain(digits);
});

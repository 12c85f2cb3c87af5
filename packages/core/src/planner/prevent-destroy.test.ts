import type { Value } from "@stackwright/cty";
import { EMPTY_BUNDLE } from "@stackwright/lang";
import { expect, it } from "vitest";
import { loadConfiguration } from "../configuration/configuration.ts";
import { createEngine } from "../engine.ts";
import { builtinOrigin } from "../providers/builtin-origin.ts";
import { createTestState } from "../testing/state-fixture.ts";

async function configured(text: string) {
  return loadConfiguration({
    ...EMPTY_BUNDLE,
    names: () => ["main.tf"],
    read: () => new TextEncoder().encode(text),
  });
}

/** A resource whose instances are planned late where it needs the other one. */
const guarded = (name: string, trigger: string): string => `
  resource "terraform_data" "${name}" {
    count            = ${name === "a" ? 11 : 1}
    triggers_replace = ${trigger}
    lifecycle {
      prevent_destroy = true
    }
  }
`;

it("lists what must not be destroyed in the order of addresses", async () => {
  const { state } = createTestState();
  const engine = createEngine({ origins: [builtinOrigin()] });
  const text = (value: string): string =>
    guarded("b", `"${value}"`) + guarded("a", "terraform_data.b[0].triggers_replace");
  const given = { state, variables: new Map<string, Value>() };
  const before = await configured(text("x"));
  const { plan } = await engine.plan({ ...given, configuration: before });
  if (plan === undefined) throw new Error("there is no plan");
  await engine.apply({ ...given, configuration: before, plan });
  const after = await configured(text("y"));
  const { diagnostics } = await engine.plan({ ...given, configuration: after });
  const [problem] = diagnostics.filter(({ severity }) => severity === "error");
  expect(problem?.summary).toBe("Instance cannot be destroyed");
  const listed = [...(problem?.detail ?? "").matchAll(/^ {2}- (\S+) \(replace\)$/gm)];
  expect(listed.map(([, address]) => address)).toEqual([
    ...Array.from({ length: 11 }, (_, index) => `terraform_data.a[${index}]`),
    "terraform_data.b[0]",
  ]);
});

import { EMPTY_BUNDLE } from "@stackwright/lang";
import { expect, it } from "vitest";
import { loadConfiguration } from "../configuration/configuration.ts";
import { createEngine } from "../engine.ts";
import { builtinOrigin } from "../providers/builtin-origin.ts";
import { createTestState } from "../testing/state-fixture.ts";

it.each(["", "lifecycle { create_before_destroy = true }"])(
  "an imported object that is replaced may depend on one that is made in the same run %s",
  async (lifecycle) => {
    const { state } = createTestState();
    const engine = createEngine({ origins: [builtinOrigin()] });
    const text = `
      resource "terraform_data" "first" {
        for_each = toset(["a"])
        input    = "one"
      }
      resource "terraform_data" "second" {
        triggers_replace = terraform_data.first["a"].output
        ${lifecycle}
      }
      import {
        to = terraform_data.second
        id = "found"
      }
    `;
    const configuration = await loadConfiguration({
      ...EMPTY_BUNDLE,
      names: () => ["main.tf"],
      read: () => new TextEncoder().encode(text),
    });
    const given = { state, configuration, variables: new Map() };
    const { plan } = await engine.plan(given);
    if (plan === undefined) throw new Error("there is no plan");
    expect(plan.changes.map(({ action, address }) => `${action} ${address}`)).toEqual([
      'create terraform_data.first["a"]',
      "replace terraform_data.second",
    ]);
    const { status, diagnostics } = await engine.apply({ ...given, plan });
    expect(diagnostics).toEqual([]);
    expect(status).toBe("applied");
    const { objects } = await state.read();
    const second = [...objects.values()].find(({ address }) => address === "terraform_data.second");
    expect(second?.dependencies.map(({ address }) => address)).toEqual([
      'terraform_data.first["a"]',
    ]);
  },
);

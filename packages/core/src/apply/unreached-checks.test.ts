import { Value } from "@stackwright/cty";
import { EMPTY_BUNDLE } from "@stackwright/lang";
import { expect, it } from "vitest";
import { loadConfiguration } from "../configuration/configuration.ts";
import { createEngine } from "../engine.ts";
import { builtinOrigin } from "../providers/builtin-origin.ts";
import { createTestState } from "../testing/state-fixture.ts";

const GOOD = `precondition {
  condition     = var.x == "x"
  error_message = "no"
}`;

const FILES: Readonly<Record<string, string>> = {
  "main.tf": `
    variable "x" {
      default = "x"
      validation {
        condition     = var.x != ""
        error_message = "empty"
      }
    }
    resource "terraform_data" "made" {
      input = var.x
      lifecycle {
        ${GOOD}
      }
    }
    resource "terraform_data" "bad" {
      lifecycle {
        precondition {
          condition     = terraform_data.made.id == "none"
          error_message = "bad"
        }
        postcondition {
          condition     = var.x == "x"
          error_message = "no"
        }
      }
    }
    resource "terraform_data" "late" {
      input      = "i"
      depends_on = [terraform_data.bad]
      lifecycle {
        ${GOOD}
      }
    }
    output "early" {
      value = terraform_data.made.input
      ${GOOD}
    }
    output "late" {
      value = terraform_data.late.input
      ${GOOD}
    }
    check "early" {
      assert {
        condition     = terraform_data.made.input == "x"
        error_message = "no"
      }
    }
    check "late" {
      assert {
        condition     = terraform_data.late.input == "i"
        error_message = "no"
      }
    }
    module "m" {
      source = "./m"
      y      = terraform_data.late.input
    }
  `,
  "m/main.tf": `
    variable "y" {}
    output "o" {
      value = var.y
      precondition {
        condition     = var.y == "i"
        error_message = "no"
      }
    }
  `,
};

it("leaves conditions open that a failed apply does not come to, whatever the plan found of them", async () => {
  const { state } = createTestState();
  const engine = createEngine({ origins: [builtinOrigin()] });
  const configuration = await loadConfiguration({
    ...EMPTY_BUNDLE,
    names: () => ["main.tf"],
    read: (path) => new TextEncoder().encode(FILES[path] ?? ""),
  });
  const given = { state, configuration, variables: new Map([["x", Value.string("x")]]) };
  const { plan } = await engine.plan(given);
  if (plan === undefined) throw new Error("there is no plan");
  const planned = new Map(plan.checks.map((check) => [`${check.kind} ${check.address}`, check]));
  expect(planned.get("precondition terraform_data.late")?.status).toBe("pass");
  expect(planned.get("output output.late")?.status).toBe("pass");

  const { status } = await engine.apply({ ...given, plan });
  expect(status).toBe("partially_applied");
  // As the state of the reference command has it.
  const { checks } = await state.read();
  expect(checks?.map((check) => `${check.kind} ${check.address} ${check.status}`)).toEqual([
    "check check.early pass",
    "check check.late unknown",
    "output module.m.output.o unknown",
    "output output.early pass",
    "output output.late unknown",
    "postcondition terraform_data.bad unknown",
    "precondition terraform_data.bad fail",
    "precondition terraform_data.late unknown",
    "precondition terraform_data.made pass",
    "variable var.x pass",
  ]);
});

const UNCHANGED: Readonly<Record<string, string>> = {
  "main.tf": `
    variable "x" {}
    variable "y" {}
    resource "terraform_data" "a" {
      input = var.x
      lifecycle {
        postcondition {
          condition     = self.output != "bad"
          error_message = "no"
        }
      }
    }
    resource "terraform_data" "b" {
      input      = "const"
      depends_on = [terraform_data.a]
      lifecycle {
        precondition {
          condition     = var.y == "y"
          error_message = "no"
        }
      }
    }
    resource "terraform_data" "c" {
      input      = var.x
      depends_on = [terraform_data.b]
    }
    resource "terraform_data" "free" {
      lifecycle {
        precondition {
          condition     = var.y == "y"
          error_message = "no"
        }
      }
    }
    output "b" {
      value = terraform_data.b.output
      precondition {
        condition     = var.y == "y"
        error_message = "no"
      }
    }
    check "b" {
      assert {
        condition     = terraform_data.b.output == "const"
        error_message = "no"
      }
    }
    module "m" {
      source = "./m"
      y      = terraform_data.b.output
      z      = var.y
    }
    module "late" {
      source     = "./m"
      y          = "l"
      z          = var.y
      depends_on = [terraform_data.a]
    }
  `,
  "m/main.tf": `
    variable "y" {
      validation {
        condition     = var.y != ""
        error_message = "no"
      }
    }
    variable "z" {
      validation {
        condition     = var.z != ""
        error_message = "no"
      }
    }
  `,
};

it("does not come to what stands behind a failed object and does not change, nor to what is behind that", async () => {
  const { state } = createTestState();
  const engine = createEngine({ origins: [builtinOrigin()] });
  const configuration = await loadConfiguration({
    ...EMPTY_BUNDLE,
    names: () => ["main.tf"],
    read: (path) => new TextEncoder().encode(UNCHANGED[path] ?? ""),
  });
  const applied = async (x: string) => {
    const variables = new Map([
      ["x", Value.string(x)],
      ["y", Value.string("y")],
    ]);
    const given = { state, configuration, variables };
    const { plan } = await engine.plan(given);
    if (plan === undefined) throw new Error("there is no plan");
    const changed = plan.changes.flatMap(({ action, address }) =>
      action === "no-op" ? [] : [address],
    );
    return { changed, result: await engine.apply({ ...given, plan }) };
  };
  expect((await applied("good")).result.status).toBe("applied");
  const { changed, result } = await applied("bad");
  expect(changed).toEqual(["terraform_data.a", "terraform_data.c"]);
  expect(result.nodes.map(({ address, status, cause }) => [address, status, cause])).toEqual([
    ["terraform_data.a", "failed", undefined],
    ["terraform_data.c", "skipped", "terraform_data.a"],
  ]);
  // As the state of the reference command has it.
  const { checks } = await state.read();
  expect(checks?.map(({ address, status }) => `${address} ${status}`)).toEqual([
    "check.b unknown",
    "output.b unknown",
    "terraform_data.a fail",
    "terraform_data.b unknown",
    "terraform_data.free pass",
    "module.late.var.y unknown",
    "module.late.var.z unknown",
    "module.m.var.y unknown",
    "module.m.var.z pass",
  ]);
});

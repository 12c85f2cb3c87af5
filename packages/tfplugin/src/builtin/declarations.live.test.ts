import { encodeTypeJson } from "@stackwright/cty";
import type { BlockSchema } from "@stackwright/mux/router";
import { expect, it } from "vitest";
import { findTerraform, TerraformFolder } from "../testing/terraform-command.ts";
import { BUILTIN_ADDRESS } from "./builtin-provider.ts";
import { BUILTIN_SCHEMA } from "./declarations.ts";

type Json = Readonly<Record<string, unknown>>;

/** A block as `terraform providers schema -json` shows it, without the texts for people. */
function blockJson({ attributes }: BlockSchema): Json {
  const shown = [...attributes].map(([name, { type, required, optional, computed }]) => [
    name,
    {
      type: JSON.parse(encodeTypeJson(type)) as unknown,
      ...(required && { required }),
      ...(optional && { optional }),
      ...(computed && { computed }),
    },
  ]);
  return { attributes: Object.fromEntries(shown) as unknown };
}

function ours(): Json {
  const { resources, dataSources, functions } = BUILTIN_SCHEMA;
  const schemas = (of: typeof resources): Json =>
    Object.fromEntries(
      [...of].map(([name, { version, block }]) => [name, { version, block: blockJson(block) }]),
    );
  return {
    provider: { version: 0 },
    resource_schemas: schemas(resources),
    data_source_schemas: schemas(dataSources),
    functions: Object.fromEntries(
      [...functions].map(([name, { parameters, returnType }]) => [
        name,
        {
          return_type: JSON.parse(encodeTypeJson(returnType)) as unknown,
          parameters: parameters.map(({ name: parameter, type }) => ({
            name: parameter,
            type: JSON.parse(encodeTypeJson(type)) as unknown,
          })),
        },
      ]),
    ),
  };
}

it("declares what the command's built-in provider declares", { timeout: 60_000 }, async (ctx) => {
  const terraform = findTerraform();
  if ("absent" in terraform) {
    ctx.skip(terraform.absent);
    return;
  }
  const source = `
    terraform {
      required_providers {
        terraform = { source = "${BUILTIN_ADDRESS}" }
      }
    }`;
  await using folder = await TerraformFolder.create({
    command: terraform.command,
    files: { "main.tf": source },
  });
  await folder.run("init");
  const texts = new Set(["description", "description_kind", "summary"]);
  const shown = JSON.parse(
    await folder.run("providers", "schema", "-json"),
    (name, value: unknown) => (texts.has(name) ? undefined : value),
  ) as { provider_schemas: Json };
  expect(ours()).toEqual(shown.provider_schemas[BUILTIN_ADDRESS]);
});

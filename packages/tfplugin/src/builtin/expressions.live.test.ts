import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { findTerraform, TerraformFolder } from "../testing/terraform-command.ts";

const FILE = join(import.meta.dirname, "../../fixtures/builtin/expressions.json");

interface Recorded {
  readonly hcl: string;
  type?: unknown;
  value?: unknown;
  expression?: string;
  tfvars?: string;
}

it("is recorded as the command writes it", { timeout: 120_000 }, async (ctx) => {
  const terraform = findTerraform();
  if ("absent" in terraform) {
    ctx.skip(terraform.absent);
    return;
  }
  const recorded = JSON.parse(await readFile(FILE, "utf8")) as Record<string, Recorded>;
  const cases = Object.entries(recorded);
  await using folder = await TerraformFolder.create({
    command: terraform.command,
    files: {
      "main.tf": `
        terraform {
          required_providers {
            terraform = { source = "terraform.io/builtin/terraform" }
          }
        }
        ${cases
          .map(
            ([name, { hcl }]) => `
              output "value_${name}" { value = ${hcl} }
              output "expression_${name}" { value = provider::terraform::encode_expr(${hcl}) }
              output "tfvars_${name}" { value = try(provider::terraform::encode_tfvars(${hcl}), null) }`,
          )
          .join("\n")}`,
    },
  });
  await folder.run("init");
  await folder.run("apply", "-auto-approve");
  const outputs = JSON.parse(await folder.run("output", "-json")) as Record<
    string,
    { value: unknown; type: unknown }
  >;
  const state = await readFile(join(folder.path, "terraform.tfstate"), "utf8");
  expect(state).toContain('"version": 4');
  const now = Object.fromEntries(
    cases.map(([name, { hcl }]) => [
      name,
      {
        hcl,
        type: outputs[`value_${name}`]?.type,
        value: outputs[`value_${name}`]?.value,
        expression: outputs[`expression_${name}`]?.value,
        tfvars: outputs[`tfvars_${name}`]?.value,
      },
    ]),
  );
  // For recording anew, after cases were added.
  if (process.env.STACKWRIGHT_RECORD === "1")
    await writeFile(FILE, `${JSON.stringify(now, null, 2)}\n`);
  else expect(now).toEqual(recorded);
});

import { execFile } from "node:child_process";
import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, it, onTestFinished } from "vitest";
import { objectOf, parseExact } from "../differential/exact-json.ts";
import { ProviderMirror } from "../differential/provider-mirror.ts";
import { planRows } from "../differential/recording-rows.ts";
import { cli } from "../testing/cli.ts";
import { Scratch } from "../testing/scratch.ts";

const run = promisify(execFile);
const LAB = ["terraform-provider-lab"];

/**
 * Everything of OpenTofu that is worked out before anything is planned: the source of a module, the place of the state, and the
 * instances of a provider.
 */
const MAIN = `
terraform {
  required_providers {
    lab = { source = "example.test/lab/lab" }
  }
  backend "local" {
    path = local.state
  }
}
variable "name" {}
variable "keep" {
  type    = list(string)
  default = []
}
variable "places" {
  type    = list(string)
  default = ["east", "west"]
}
locals {
  state  = "\${var.name}.tfstate"
  places = { for place in concat(var.places, var.keep) : place => "\${path.cwd}/objects/\${place}" }
}
provider "lab" {
  alias     = "by"
  for_each  = local.places
  directory = each.value
}
resource "lab_object" "own" {
  for_each = toset(var.places)
  provider = lab.by[each.key]
  name     = "own-\${each.key}"
  size     = length(var.name)
}
module "called" {
  source    = "./modules/\${var.name}"
  for_each  = { one = "east", two = "west" }
  name      = each.key
  providers = { lab.inner = lab.by[each.value] }
}
output "own" { value = { for key, object in lab_object.own : key => object.id } }
`;

const CALLED = `
terraform {
  required_providers {
    lab = {
      source                = "example.test/lab/lab"
      configuration_aliases = [lab.inner]
    }
  }
}
variable "name" {}
resource "lab_object" "called" {
  provider = lab.inner
  name     = "called-\${var.name}"
}
`;

describe("a configuration of tofu with early values and instances of providers", () => {
  const real = process.env["TEST_TOOL_OPENTOFU"] ?? "tofu";

  it("is adopted with an empty plan, planned alike, and handed back", {
    timeout: 240_000,
  }, async (ctx) => {
    const version = await run(real, ["version"]).catch(() => undefined);
    ctx.skip(version === undefined, `${real} cannot be run on this machine (TEST_TOOL_OPENTOFU)`);
    const mirror = await ProviderMirror.make(LAB);
    onTestFinished(async () => mirror[Symbol.asyncDispose]());
    const missing = mirror.reasonAgainst(LAB);
    ctx.skip(missing !== undefined, missing);
    const scratch = await Scratch.make();
    onTestFinished(async () => scratch[Symbol.asyncDispose]());
    await scratch.write({ "main.tofu": MAIN, "modules/app/main.tf": CALLED });
    const objects = join(scratch.work, "objects");
    for (const place of ["east", "west", "north"])
      await mkdir(join(objects, place), { recursive: true });
    const env = {
      TF_CLI_CONFIG_FILE: mirror.configuration,
      TF_IN_AUTOMATION: "1",
      TF_INPUT: "0",
      CHECKPOINT_DISABLE: "1",
    };
    const name = ["-var", "name=app"];
    const tofu = async (...words: string[]) =>
      run(real, words, {
        cwd: scratch.work,
        env: { ...scratch.env, ...env },
        timeout: 90_000,
      }).then(
        ({ stdout, stderr }) => ({ code: 0, output: stdout, error: stderr }),
        (error: { code: number; stdout: string; stderr: string }) => ({
          code: error.code,
          output: error.stdout,
          error: error.stderr,
        }),
      );
    const ours = async (...words: string[]) => cli(scratch, words, { env });

    expect(await tofu("init", ...name)).toMatchObject({ code: 0 });
    expect(await tofu("apply", "-auto-approve", ...name)).toMatchObject({ code: 0 });
    const state = join(scratch.work, "app.tfstate");
    const before = await readFile(state, "utf8");
    expect(before).toContain('provider[\\"example.test/lab/lab\\"].by[\\"east\\"]');

    // Taken over from the place that the expression names.
    expect(await ours("plan", ...name)).toMatchObject({ code: 1 });
    const adopted = await ours("adopt", "--yes", "--old=none", ...name);
    expect(adopted.error + adopted.output).toContain("app.tfstate");
    expect(adopted).toMatchObject({ code: 0 });
    expect(await ours("plan", "-detailed-exitcode", ...name)).toMatchObject({ code: 0 });

    // The same changes lead to the same plans: an instance more, one less, and one whose provider stays.
    const plans = join(scratch.folder, "plan");
    for (const set of [
      ['places=["east","west","north"]', "keep=[]"],
      ['places=["east"]', 'keep=["west"]'],
    ]) {
      const values = [...name, ...set.flatMap((one) => ["-var", one])];
      expect(await ours("plan", ...values, "--out", `${plans}.ours`)).toMatchObject({ code: 0 });
      expect(await tofu("plan", ...values, `-out=${plans}.theirs`)).toMatchObject({ code: 0 });
      const rows = (text: string) => planRows(objectOf(parseExact(text)));
      const one = rows((await ours("show", "--json", `${plans}.ours`)).output);
      const other = rows((await tofu("show", "-json", `${plans}.theirs`)).output);
      expect(one.resource_changes).toEqual(other.resource_changes);
    }

    // A provider instance that is gone cannot destroy its objects, for either.
    const gone = [...name, "-var", 'places=["west"]'];
    for (const command of [ours, tofu]) {
      const { code, output, error } = await command("plan", ...gone);
      expect({ code, text: output + error }).toMatchObject({
        code: 1,
        text: expect.stringContaining("Provider instance not present") as unknown,
      });
    }

    // A kept plan has its values: the same modules and instances are loaded to apply it.
    expect(await ours("apply", `${plans}.ours`)).toMatchObject({ code: 0 });
    expect((await readdir(join(objects, "west"))).join()).not.toContain("own-west");
    const exported = await ours("export-state");
    expect(exported.code).toBe(0);
    await writeFile(state, exported.output);
    const kept = [...name, "-var", 'places=["east"]', "-var", 'keep=["west"]'];
    expect(await tofu("plan", "-detailed-exitcode", ...kept)).toMatchObject({ code: 0 });
  });
});

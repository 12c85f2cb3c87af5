import { execFile } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { objectOf, parseExact } from "../differential/exact-json.ts";
import { planRows } from "../differential/recording-rows.ts";
import { cli } from "../testing/cli.ts";
import type { Scratch } from "../testing/scratch.ts";
import { scratchWith } from "../testing/with-terminal.ts";

const run = promisify(execFile);

const MAIN = `
terraform {
  backend "local" {}
}
variable "word" {
  default = "one"
}
resource "terraform_data" "a" {
  input            = { word = var.word, big = 12345678901234567890.25, list = [1, true, null] }
  triggers_replace = var.word == "three" ? [3] : null
}
resource "terraform_data" "each" {
  for_each = toset(["x", "y"])
  input    = "\${each.key} \${terraform_data.a.output.word}"
}
output "secret" {
  value     = terraform_data.a.output.word
  sensitive = true
}
`;

describe("a stack that terraform has made", () => {
  const real = process.env["TEST_TERRAFORM"] ?? "terraform";
  const terraform = async (scratch: Scratch, ...words: string[]) =>
    run(real, words, {
      cwd: scratch.work,
      env: { ...scratch.env, CHECKPOINT_DISABLE: "1", TF_IN_AUTOMATION: "1", TF_INPUT: "0" },
      timeout: 90_000,
    }).then(
      ({ stdout }) => ({ code: 0, output: stdout }),
      (error: { code: number; stdout: string }) => ({ code: error.code, output: error.stdout }),
    );

  it("is adopted with an empty plan, planned alike, and handed back with an empty plan", async (ctx) => {
    const version = await run(real, ["version"]).catch(() => undefined);
    ctx.skip(version === undefined, `${real} cannot be run on this machine`);
    const scratch = await scratchWith({ "main.tf": MAIN });
    expect((await terraform(scratch, "init")).code).toBe(0);
    expect((await terraform(scratch, "apply", "-auto-approve")).code).toBe(0);

    // Taken over: nothing to do.
    const taken = await cli(scratch, ["import-state", "terraform.tfstate"]);
    expect(taken.code).toBe(0);
    expect(await cli(scratch, ["plan", "-detailed-exitcode"])).toMatchObject({ code: 0 });

    // The same changes lead to the same plans.
    const ours = join(scratch.folder, "ours.plan");
    const theirs = join(scratch.folder, "theirs.plan");
    for (const word of ["two", "three"]) {
      const set = ["-var", `word=${word}`];
      expect((await cli(scratch, ["plan", ...set, "--out", ours])).code).toBe(0);
      const planned = await terraform(scratch, "plan", ...set, `-out=${theirs}`);
      expect(planned.code).toBe(0);
      const one = await cli(scratch, ["show", "--json", ours]);
      const other = await terraform(scratch, "show", "-json", theirs);
      const rows = (text: string) => planRows(objectOf(parseExact(text)));
      expect(rows(one.output).resource_changes).toEqual(rows(other.output).resource_changes);
    }

    // Changed by us, and given back: nothing to do for the other.
    expect(await cli(scratch, ["up", "--yes", "-var", "word=two"])).toMatchObject({ code: 0 });
    const { code, output } = await cli(scratch, ["export-state"]);
    expect(code).toBe(0);
    await writeFile(join(scratch.work, "terraform.tfstate"), output);
    const after = await terraform(scratch, "plan", "-detailed-exitcode", "-var", "word=two");
    expect(after).toMatchObject({ code: 0 });
  });
});

import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, it } from "vitest";
import { stackwrightTool } from "../differential/tool.ts";
import { Dice } from "../generator/dice.ts";
import { cli, startCli } from "../testing/cli.ts";
import { scratchWith } from "../testing/with-terminal.ts";

/** `.ci/run` derives it from the commit, so that every commit has another way. */
const SEED = Number(process.env["STACKWRIGHT_SLICE"] ?? 20_171_121);
const APPLIES = 20;
const KEYS = ["a", "b", "c", "d-1", "é"];

/** A configuration that the dice decide; `many` makes it long enough to be killed in its middle. */
function configuration(dice: Dice, many = false): string {
  const keys = KEYS.filter(() => dice.chance(60)).map((key) => `"${key}"`);
  const count = many ? 30 : dice.below(6);
  return `
resource "terraform_data" "counted" {
  count            = ${count}
  input            = { index = count.index, word = "w${dice.below(4)}", list = [1, null, true] }
  triggers_replace = ${dice.chance(30) ? dice.below(3) : "null"}
}
resource "terraform_data" "each" {
  for_each = toset([${keys.join(", ")}])
  input    = "\${each.key} \${length(terraform_data.counted)}"
  lifecycle {
    create_before_destroy = ${dice.chance(50)}
  }
}
${
  dice.chance(70)
    ? `resource "terraform_data" "last" {
  input = { for key, one in terraform_data.each : key => one.output }
}
output "last" {
  value     = terraform_data.last.output
  sensitive = ${dice.chance(50)}
}`
    : ""
}
`;
}

it(`a state comes back to terraform after ${APPLIES} applies and a kill (seed ${SEED})`, {
  timeout: 240_000,
}, async (ctx) => {
  const real = process.env["TEST_TERRAFORM"] ?? "terraform";
  const run = promisify(execFile);
  const version = await run(real, ["version"]).catch(() => undefined);
  ctx.skip(version === undefined, `${real} cannot be run on this machine`);
  const dice = new Dice(SEED);
  const usesMirror = SEED % 2 === 0;
  const scratch = await scratchWith({ "main.tf": configuration(dice) });
  const terraform = async (...words: string[]) =>
    run(real, [...words, "-no-color"], {
      cwd: scratch.work,
      env: { ...scratch.env, CHECKPOINT_DISABLE: "1", TF_IN_AUTOMATION: "1", TF_INPUT: "0" },
      timeout: 60_000,
    }).then(
      ({ stdout }) => ({ code: 0, text: stdout }),
      (error: { code: number; stdout: string; stderr: string }) => ({
        code: error.code,
        text: error.stdout + error.stderr,
      }),
    );
  // A start of the command for each of the applies would take most of the time.
  const store = join(scratch.work, ".stackwright");
  const tool = stackwrightTool(undefined, store);
  const ours = async (...words: string[]) =>
    tool.start({ args: words, cwd: scratch.work, env: { ...scratch.env, NO_COLOR: "1" } });

  expect(await terraform("init")).toMatchObject({ code: 0 });
  expect(await terraform("apply", "-auto-approve")).toMatchObject({ code: 0 });
  const lineage = lineageOf(await readFile(join(scratch.work, "terraform.tfstate"), "utf8"));
  const adopted = await ours("adopt", "--yes", ...(usesMirror ? ["--mirror"] : []));
  expect(adopted.code, adopted.error).toBe(0);

  const killed = dice.below(APPLIES);
  for (let at = 0; at < APPLIES; at++) {
    await writeFile(join(scratch.work, "main.tf"), configuration(dice, at === killed));
    if (at === killed) {
      const child = startCli(scratch, ["up", "-y", "-parallelism=1"]);
      await child.says(/terraform_data\.counted\[[0-9]+\][^\n]*(created|Created|done)/);
      child.signal("SIGKILL");
      expect((await child.end()).code).toBeUndefined();
    }
    const { code, output, error } = await ours("up", "-y");
    expect(code, `apply ${at}: ${output}${error}`).toBe(0);
  }
  if (!usesMirror) {
    const back = await ours("hand-back", "--yes");
    expect(back.code, back.error).toBe(0);
  }
  await rm(store, { recursive: true });
  expect(existsSync(store)).toBe(false);
  const state = await readFile(join(scratch.work, "terraform.tfstate"), "utf8");
  expect(lineageOf(state)).toBe(lineage);
  const plan = await terraform("plan", "-detailed-exitcode");
  expect(plan.code, plan.text).toBe(0);
  expect(await cli(scratch, ["plan"])).toMatchObject({ code: 1 });
});

function lineageOf(text: string): unknown {
  return (JSON.parse(text) as { readonly lineage?: unknown }).lineage;
}

import { mkdir, mkdtempDisposable, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { tryCommand } from "../testing/try-command.ts";

/** Keys of `b` are known after `a`, those of `c` after `b`. */
const CHAIN = `
variable "names" {
  type    = list(string)
  default = ["x", "y"]
}
resource "terraform_data" "a" {
  input = var.names
}
resource "terraform_data" "b" {
  for_each = toset(terraform_data.a.output)
  input    = each.key
}
resource "terraform_data" "c" {
  for_each = toset([for b in terraform_data.b : "\${b.output}!"])
  input    = each.key
}
resource "terraform_data" "last" {
  input = [for c in terraform_data.c : c.input]
}
resource "terraform_data" "beside" {}
output "last" { value = terraform_data.last.output }
`;

async function start(files: Readonly<Record<string, string>>) {
  const scratch = await mkdtempDisposable(join(tmpdir(), "staged-"));
  onTestFinished(() => scratch.remove());
  const cwd = scratch.path;
  const write = async (given: Readonly<Record<string, string>>): Promise<void> => {
    for (const [name, text] of Object.entries(given)) {
      await mkdir(join(cwd, name, ".."), { recursive: true });
      await writeFile(join(cwd, name), text);
    }
  };
  await write(files);
  return { write, run: async (...words: string[]) => tryCommand(words, { cwd }) };
}

it("instances that only an apply makes known are left to the next stage", {
  timeout: 60_000,
}, async () => {
  const { run } = await start({ "main.tf": CHAIN });
  const plan = await run("plan", "--staged");
  expect([plan.code, plan.error]).toEqual([0, ""]);
  expect(plan.output).toContain("terraform_data.beside");
  expect(plan.output).toContain(
    [
      "This plan is a stage: 3 parts are left to the next one.",
      "  terraform_data.b: its for_each depends on values that are known after this stage",
      "  terraform_data.c: its for_each depends on values that are known after this stage",
      "  terraform_data.last: it depends on terraform_data.b",
    ].join("\n"),
  );
  expect(plan.output).not.toContain("target");
  // Each round of planning finds more that waits, and only the last one counts.
  const lines = (await run("plan", "--staged", "--json")).output.split("\n");
  expect(lines.filter((line) => line.includes('"planned_change"'))).toHaveLength(2);
});

it("up plans and applies stage by stage, and changes little later", {
  timeout: 120_000,
}, async () => {
  const { run } = await start({ "main.tf": CHAIN });
  const up = await run("up", "--staged", "--yes");
  expect([up.code, up.error]).toEqual([0, ""]);
  expect(up.output).toContain("Stage 2, for 3 parts that were left.");
  expect(up.output).toContain("Stage 3, for 2 parts that were left.");
  expect(up.output).not.toContain("Stage 4");
  const list = (await run("state", "list")).output.trim().split("\n");
  expect(list).toHaveLength(7);
  expect((await run("output", "-json", "last")).output).toContain('"x!"');
  // A plan without stages agrees that nothing is left.
  expect((await run("plan", "-detailed-exitcode")).code).toBe(0);
  // Of a change later, the stages are as many as it needs, and what was left out stays as it is meanwhile.
  const more = await run("up", "--staged", "--yes", "-var", 'names=["x","y","z"]');
  expect([more.code, more.error]).toEqual([0, ""]);
  expect(more.output).not.toContain("destroyed, 1");
  expect((await run("plan", "-detailed-exitcode", "-var", 'names=["x","y","z"]')).code).toBe(0);
  expect((await run("state", "list")).output.trim().split("\n")).toHaveLength(9);
});

it("calls of modules and counts wait, too", { timeout: 120_000 }, async () => {
  const { run } = await start({
    "main.tf": `
resource "terraform_data" "n" { input = 2 }
module "m" {
  source = "./m"
  count  = terraform_data.n.output
  word   = "w\${count.index}"
}
output "words" { value = module.m[*].word }
`,
    "m/main.tf": `
variable "word" {}
resource "terraform_data" "in" { input = var.word }
output "word" { value = terraform_data.in.output }
`,
  });
  expect((await run("init")).code).toBe(0);
  const plan = await run("plan", "--staged");
  expect([plan.code, plan.error]).toEqual([0, ""]);
  expect(plan.output).toContain(
    "This plan is a stage: one part is left to the next one.\n  module.m: its count depends on values that are known after this stage",
  );
  const up = await run("up", "--staged", "--yes");
  expect([up.code, up.error]).toEqual([0, ""]);
  expect((await run("output", "-json", "words")).output.replaceAll(/\s/g, "")).toBe('["w0","w1"]');
  expect((await run("plan", "-detailed-exitcode")).code).toBe(0);
});

it("stages that only a replacement leads on from say what to destroy first, which helps", {
  timeout: 120_000,
}, async () => {
  const { run } = await start({
    "main.tf": `
variable "name" { default = "one" }
resource "terraform_data" "a" { triggers_replace = var.name }
resource "terraform_data" "keyed" {
  for_each = toset([terraform_data.a.id])
  input    = each.key
}
resource "terraform_data" "user" { input = [for one in terraform_data.keyed : one.id] }
`,
  });
  expect((await run("up", "--staged", "--yes")).code).toBe(0);
  const again = ["up", "--staged", "--yes", "-var", "name=two"];
  const stuck = await run(...again);
  expect(stuck.code).toBe(1);
  const [, command = ""] = /\n +stackwright (destroy -target=.*)$/m.exec(stuck.error) ?? [];
  const targets = [...command.matchAll(/-target='([^']*)'/g)].map(([, address = ""]) => address);
  expect(targets).toEqual([expect.stringMatching(/^terraform_data\.keyed\["/)]);
  const destroyed = await run("destroy", "--yes", ...targets.map((one) => `-target=${one}`));
  expect(destroyed.code).toBe(0);
  const up = await run(...again);
  expect([up.code, up.error]).toEqual([0, ""]);
  expect((await run("plan", "-detailed-exitcode", "-var", "name=two")).code).toBe(0);
});

it("a saved plan has its stage in it, and what never becomes known is an error", {
  timeout: 120_000,
}, async () => {
  const { run, write } = await start({ "main.tf": CHAIN });
  expect((await run("plan", "--staged", "--out", "p")).code).toBe(0);
  const shown = JSON.parse((await run("show", "--json", "p")).output) as { complete?: boolean };
  expect(shown.complete).toBe(false);
  const applied = await run("up", "p");
  expect([applied.code, applied.error]).toEqual([0, ""]);
  expect((await run("up", "--staged", "--yes")).code).toBe(0);
  const both = await run("plan", "--staged", "-destroy");
  expect([both.code, both.error]).toEqual([1, expect.stringContaining("-staged goes with")]);
  await write({
    "main.tf": `
resource "terraform_data" "a" { input = "x" }
resource "terraform_data" "b" {
  for_each = toset([timestamp()])
}
`,
  });
  const stuck = await run("up", "--staged", "--yes");
  expect(stuck.code).toBe(1);
  expect(stuck.error).toContain(
    "Some parts are left, and stage 2 changes nothing: terraform_data.b.",
  );
  // Nothing but what is left would be done: the exit code says that something is.
  expect((await run("plan", "--staged", "-detailed-exitcode")).code).toBe(2);
  await write({
    "main.tf": `
resource "terraform_data" "a" { input = timestamp() }
resource "terraform_data" "b" {
  for_each = toset([terraform_data.a.output])
}
`,
  });
  const endless = await run("up", "--staged", "--yes");
  expect(endless.code).toBe(1);
  expect(endless.error).toContain(
    "Some parts are left, and stage 2 leaves all that the one before left: terraform_data.b.",
  );
});

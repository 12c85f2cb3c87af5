import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type CommandResult, tryCommand } from "../testing/try-command.ts";

const OLD = "correct-horse-battery";
const NEW = "staple-of-the-new-age";

// `output` repeats `input` without a mark, in every shape that a provider can give it.
const TEMPLATE = `
variable "word" {
  type      = string
  sensitive = true
}
resource "terraform_data" "plain" { input = var.word }
resource "terraform_data" "inside" { input = "postgres://app:\${var.word}@db/app" }
resource "terraform_data" "document" { input = jsonencode({ login = "app", password = var.word }) }
resource "terraform_data" "encoded" { input = base64encode("app:\${var.word}") }
resource "terraform_data" "deep" { input = { users = [{ name = "app", password = var.word }] } }
resource "terraform_data" "key" { input = { (var.word) = 1 } }
resource "terraform_data" "other" { input = terraform_data.plain.output }
resource "terraform_data" "replaced" {
  input            = "seen"
  triggers_replace = terraform_data.inside.output
}
output "repeated" { value = terraform_data.plain.output }
output "open" { value = "seen" }
`;

describe("a secret that something repeats", () => {
  let cwd: string;
  const run = async (...words: string[]): Promise<CommandResult> => {
    const result = await tryCommand(words, { cwd });
    return result;
  };
  const word = (value: string): string => `-var=word=${value}`;

  beforeEach(async () => {
    cwd = await mkdtemp(join(tmpdir(), "stackwright-hidden-"));
    await writeFile(join(cwd, "main.tf"), TEMPLATE);
  });

  afterEach(async () => {
    await rm(cwd, { recursive: true });
  });

  it("is in no plan, neither the old one nor the new one", async () => {
    expect((await run("up", "--yes", word(OLD))).code).toBe(0);
    const changes: string[][] = [
      ["plan", word(NEW)],
      ["plan", word(NEW), "--json"],
      ["plan", "-destroy", word(NEW)],
      ["plan", word(NEW), "--out", "kept"],
      ["show", "kept"],
      ["show", "--json", "kept"],
      ["up", "--yes", "--json", word(NEW)],
      ["up", "--yes", word(OLD)],
    ];
    for (const words of changes) {
      const { code, output, error } = await run(...words);
      expect(output + error, words[0]).not.toMatch(
        new RegExp(`${OLD}|${NEW}|${Buffer.from(`app:${OLD}`).toString("base64").slice(0, 20)}`),
      );
      expect([0, 2]).toContain(code);
    }
  });

  it("is in no plan when its place in the configuration goes", async () => {
    await run("up", "--yes", word(OLD));
    await writeFile(
      join(cwd, "main.tf"),
      'resource "terraform_data" "plain" { input = "public" }\nresource "terraform_data" "other" { input = 1 }\n',
    );
    const { output } = await run("plan");
    expect(output).toContain("2 to change");
    expect(output).not.toContain(OLD);
  });

  it("is shown of a state by a flag alone", async () => {
    await run("up", "--yes", word(OLD));
    for (const words of [
      ["show"],
      ["show", "--json"],
      ["state", "show", "terraform_data.plain"],
      ["state", "show", "terraform_data.other"],
      ["state", "show", "terraform_data.key"],
      ["output"],
    ]) {
      const { code, output } = await run(...words);
      expect(code).toBe(0);
      expect(`${words.join(" ")}: ${output}`).not.toContain(OLD);
    }
    expect((await run("show")).output).toContain('"seen"');
    expect((await run("output")).output).toBe('open = "seen"\nrepeated = (sensitive value)\n');
    const hidden = JSON.parse((await run("show", "--json")).output) as ShownState;
    expect(resource(hidden, "plain")).toMatchObject({
      values: { input: null, output: null },
      sensitive_values: { input: true, output: true },
    });
    const shown = JSON.parse((await run("show", "--json", "--show-secrets")).output) as ShownState;
    expect(resource(shown, "plain")).toMatchObject({
      values: { input: OLD, output: OLD },
      sensitive_values: { input: true },
    });
    expect((await run("show", "--show-secrets")).output).toContain(`postgres://app:${OLD}@db/app`);
    expect((await run("state", "show", "--show-secrets", "terraform_data.plain")).output).toMatch(
      new RegExp(`output += "${OLD}"`),
    );
    expect((await run("output", "repeated")).output).toBe(`"${OLD}"\n`);
  });

  it("is in no message of a condition that the store keeps", async () => {
    await writeFile(
      join(cwd, "main.tf"),
      `
variable "word" {
  type      = string
  sensitive = true
}
resource "terraform_data" "plain" { input = var.word }
resource "terraform_data" "strict" {
  input = var.word
  lifecycle {
    postcondition {
      condition     = self.output == "other"
      error_message = "the object says \${self.output}"
    }
  }
}
check "plain" {
  assert {
    condition     = terraform_data.plain.output == "other"
    error_message = "the check says \${terraform_data.plain.output}"
  }
}
`,
    );
    expect((await run("up", "--yes", word(OLD))).error).toContain("says (sensitive value)");
    await run("plan", word(OLD), "--out", "kept");
    const folder = join(cwd, ".stackwright/store");
    for (const name of await readdir(folder)) {
      if (!name.startsWith("store.db")) continue;
      const bytes = await readFile(join(folder, name));
      expect(bytes.includes(OLD), name).toBe(false);
    }
  });

  it("is shown by an expression that says so alone", async () => {
    await run("up", "--yes", word(OLD));
    const ask = async (expression: string): Promise<string> =>
      (await tryCommand(["console", word(OLD)], { cwd, input: `${expression}\n` })).output;
    expect(await ask("terraform_data.plain.output")).not.toContain(OLD);
    expect(await ask("terraform_data.deep")).not.toContain(OLD);
    expect(await ask("nonsensitive(terraform_data.plain.output)")).toContain(OLD);
  });

  it("is in a plan for programs by a flag alone, with the masks of the reference command", async () => {
    await run("up", "--yes", word(OLD));
    await run("plan", word(NEW), "--out", "kept");
    const hidden = JSON.parse((await run("show", "--json", "kept")).output) as ShownPlan;
    expect(change(hidden, "plain")).toMatchObject({
      before: { input: null, output: null },
      after: { input: null },
      after_unknown: { output: true },
      before_sensitive: { input: true, output: true },
    });
    const shown = JSON.parse(
      (await run("show", "--json", "--show-secrets", "kept")).output,
    ) as ShownPlan;
    expect(change(shown, "plain")).toMatchObject({
      before: { input: OLD, output: OLD },
      after: { input: NEW },
      before_sensitive: { input: true },
    });
    const text = (await run("show", "--show-secrets", "kept")).output;
    expect(text).toContain(`~ input  = "${OLD}" -> "${NEW}"`);
  });
});

interface ShownState {
  readonly values: { readonly root_module: { readonly resources: readonly { name: string }[] } };
}

function resource({ values }: ShownState, wanted: string) {
  return values.root_module.resources.find(({ name }) => name === wanted);
}

interface ShownPlan {
  readonly resource_changes: readonly { readonly name: string; readonly change: unknown }[];
}

function change({ resource_changes: changes }: ShownPlan, wanted: string): unknown {
  return changes.find(({ name }) => name === wanted)?.change;
}

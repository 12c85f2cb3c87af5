import { execFile } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { COMMAND, cli } from "../testing/cli.ts";
import { GATE, gateFile, scratchWith } from "../testing/with-terminal.ts";

const run = promisify(execFile);
const README = join(import.meta.dirname, "../../../README.md");
const SECRET = "hunter2-is-never-written";

/** Every file below a folder. */
function filesBelow(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
}

describe("a first stack", () => {
  it("comes from the lines of the README", async () => {
    const scratch = await scratchWith({});
    const text = /## Your own stack\n\n```sh\n(.*?)```/s.exec(readFileSync(README, "utf8"))?.[1];
    const program = COMMAND.map((part) => `'${part}'`).join(" ");
    const lines = text?.replace("../node_modules/.bin/stackwright up", `${program} up --yes`) ?? "";
    expect(lines).toContain(program);
    const { stdout } = await run("bash", ["-e", "-c", lines], {
      cwd: scratch.work,
      env: scratch.env,
      timeout: 60_000,
    });
    expect(stdout).toContain("Apply complete: 1 added, 0 changed, 0 destroyed.");
    expect(stdout).toContain('greeting = "hello"');
  });

  it("ends with the codes that scripts need", async () => {
    const scratch = await scratchWith({ "main.tf": 'resource "terraform_data" "a" {}\n' });
    const code = async (...words: string[]) => (await cli(scratch, words)).code;
    expect(await code("plan")).toBe(0);
    expect(await code("plan", "-detailed-exitcode")).toBe(2);
    expect(await code("up", "--yes")).toBe(0);
    expect(await code("plan", "-detailed-exitcode")).toBe(0);
    await scratch.write({ "main.tf": 'resource "terraform_data" "a" { input = nothing }\n' });
    expect(await code("validate")).toBe(1);
    expect(await code("plan", "-detailed-exitcode")).toBe(1);
    expect(await code("up", "--yes")).toBe(1);
  });

  it("keeps a plan, does exactly that, and refuses it once the state went on", async () => {
    const scratch = await scratchWith({
      "main.tf":
        'variable "word" { default = "one" }\nresource "terraform_data" "a" { input = var.word }\n',
    });
    const kept = join(scratch.folder, "kept.plan");
    const plan = ["plan", "-var", "word=kept", "--out", kept];
    expect(await cli(scratch, plan)).toMatchObject({ code: 0 });
    const shown = await cli(scratch, ["show", "--json", kept]);
    expect(JSON.parse(shown.output)).toMatchObject({
      format_version: "1.2",
      resource_changes: [{ address: "terraform_data.a", change: { actions: ["create"] } }],
    });
    const stale = join(scratch.folder, "stale.plan");
    await cli(scratch, ["plan", "--out", stale]);
    expect(await cli(scratch, ["up", kept])).toMatchObject({ code: 0 });
    expect((await cli(scratch, ["state", "show", "terraform_data.a"])).output).toContain('"kept"');
    const refused = await cli(scratch, ["up", stale]);
    expect(refused.code).toBe(1);
    expect(refused.error).toContain("the plan was made from revision 0, the state is at");
    expect(await cli(scratch, plan)).toMatchObject({ code: 0 });
  });

  it("never writes a secret, in no file", async () => {
    const scratch = await scratchWith({
      "main.tf": `${GATE}
variable "secret" {
  sensitive = true
}
${gateFile("a", "  secret = var.secret")}
${gateFile("b", "  content = sha256(var.secret)")}
resource "terraform_data" "c" {
  triggers_replace = [var.secret]
}
output "secret" {
  value     = var.secret
  sensitive = true
}
`,
    });
    const env = { TF_VAR_secret: SECRET };
    const plan = ["plan", "--out", join(scratch.folder, "kept.plan")];
    const outcomes = [
      await cli(scratch, plan, { env }),
      await cli(scratch, ["up", "--yes"], { env }),
      await cli(scratch, ["show"]),
    ];
    expect(outcomes.map(({ code }) => code)).toEqual([0, 0, 0]);
    for (const { output, error } of outcomes) expect(output + error).not.toContain(SECRET);
    const files = filesBelow(scratch.folder);
    expect(files.some((path) => path.includes(join(".stackwright", "store")))).toBe(true);
    const base64 = Buffer.from(SECRET).toString("base64").slice(0, 20);
    for (const path of files) {
      const bytes = readFileSync(path, "latin1");
      expect(bytes.includes(SECRET) || bytes.includes(base64), path).toBe(false);
    }
    expect((await cli(scratch, ["output", "-raw", "secret"])).output).toBe(SECRET);
    const env2 = { STACKWRIGHT_KEY: Buffer.alloc(32, 7).toString("base64") };
    const other = await cli(scratch, ["output", "-raw", "secret"], { env: env2 });
    expect(other.code).toBe(1);
    expect(other.error).toContain("key");
  });

  it("keeps its data where STACKWRIGHT_DIR says", async () => {
    const scratch = await scratchWith({ "main.tf": 'resource "terraform_data" "a" {}\n' });
    const env = { STACKWRIGHT_DIR: join(scratch.folder, "else where") };
    expect(await cli(scratch, ["up", "--yes"], { env })).toMatchObject({ code: 0 });
    expect(existsSync(join(scratch.work, ".stackwright"))).toBe(false);
    expect((await cli(scratch, ["state", "list"], { env })).output).toBe("terraform_data.a\n");
    expect((await cli(scratch, ["state", "list"])).output).toBe("");
  });

  it.each([
    ["no configuration", {}, ["up", "--yes"], {}, "There is no configuration (*.tf, *.tf.json)"],
    ["no folder", {}, ["--chdir", "nowhere", "plan"], {}, 'There is no folder "'],
    ["an unknown option", {}, ["plan", "-frobnicate"], {}, "unknown option"],
    ["an unknown command", {}, ["frobnicate"], {}, "unknown command"],
    ["an unknown kind of store", {}, ["show", "--store", "ftp://x"], {}, "ftp"],
    ["a value without a name", { "main.tf": "" }, ["plan", "-var", "x"], {}, "-var name=value"],
    ["a missing file of values", { "main.tf": "" }, ["plan", "-var-file", "x"], {}, '"x"'],
    [
      "a file where a folder belongs",
      { "main.tf": "", file: "" },
      ["up"],
      { STACKWRIGHT_DIR: "file" },
      "file",
    ],
    ["a missing plan", { "main.tf": "" }, ["up", "missing.plan"], {}, "missing.plan"],
    ["a state that is none", { "main.tf": "", s: "{}" }, ["import-state", "s"], {}, "state"],
  ])("says what is wrong with %s", async (_what, files, words, env, told) => {
    const scratch = await scratchWith(files);
    const { code, output, error } = await cli(scratch, words, { env });
    expect(code).toBe(1);
    expect(output).toBe("");
    expect(error.toLowerCase()).toContain("error: ");
    expect(error).toContain(told);
    // A sentence, and no trace of ours.
    expect(error).not.toMatch(/^\s+at .*:\d+:\d+\)?$/m);
  });
});

import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openStore } from "@stackwright/core";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type CommandResult, tryCommand } from "../testing/try-command.ts";

const TEMPLATE = `
variable "word" { default = "hello" }
resource "terraform_data" "a" {
  input = var.word
}
resource "terraform_data" "b" {
  triggers_replace = terraform_data.a.output
}
output "word" { value = terraform_data.a.output }
output "secret" {
  value     = "hunter2"
  sensitive = true
}
`;

describe("up and its relatives", () => {
  let cwd: string;
  const run = async (...words: string[]): Promise<CommandResult> => tryCommand(words, { cwd });

  beforeEach(async () => {
    cwd = await mkdtemp(join(tmpdir(), "stackwright-up-"));
    await writeFile(join(cwd, "main.tf"), TEMPLATE);
  });

  afterEach(async () => {
    await rm(cwd, { recursive: true });
  });

  it("apply, have nothing to do afterwards, and destroy", async () => {
    const up = await run("up", "--yes");
    expect(up).toMatchObject({ code: 0, error: "" });
    expect(up.output).toContain("Apply complete: 2 added, 0 changed, 0 destroyed.");
    expect(up.output).toContain('word = "hello"');
    expect(up.output).not.toContain("hunter2");
    expect(await run("plan", "-detailed-exitcode")).toMatchObject({ code: 0 });
    expect((await run("state", "list")).output).toBe("terraform_data.a\nterraform_data.b\n");
    const gone = await run("destroy", "-auto-approve");
    expect(gone.output).toContain("0 added, 0 changed, 2 destroyed");
    expect((await run("show")).output).toBe("Nothing is recorded.\n");
  });

  it("says what a plan does that changes outputs alone", async () => {
    await run("up", "--yes");
    await writeFile(join(cwd, "main.tf"), `${TEMPLATE}\noutput "more" { value = 1 }\n`);
    const { code, output } = await run("plan", "-detailed-exitcode");
    expect(code).toBe(2);
    expect(output).toMatch(
      /Changes to outputs:\n {2}\+ more = 1\n\nPlan: outputs change, and no object does\.\n$/,
    );
    const objects = await run("plan", "-var=word=other");
    expect(objects.output.match(/Plan:/g)).toHaveLength(1);
  });

  it("apply nothing where no user can be asked", async () => {
    const { code, error } = await run("up");
    expect(code).toBe(1);
    expect(error).toContain("Approval is required to apply the plan");
    expect(error).toContain("--yes");
    expect((await run("state", "list")).output).toBe("");
  });

  it("do exactly what a kept plan says", async () => {
    expect(await run("plan", "-var", "word=kept", "--out", "p")).toMatchObject({ code: 0 });
    expect(await readFile(join(cwd, "p"), "utf8")).not.toContain("kept");
    const json: unknown = JSON.parse((await run("show", "--json", "p")).output);
    expect(json).toMatchObject({ format_version: "1.2", applyable: true });
    expect((await run("up", "p")).output).toContain('word = "kept"');
  });

  it("refuse a kept plan after the state has changed", async () => {
    await run("plan", "--out", "p");
    await run("up", "--yes", "-var=word=other");
    const { code, error } = await run("up", "p");
    expect(code).toBe(1);
    expect(error).toContain("Error: ");
    expect((await run("output", "-raw", "word")).output).toBe("other");
  });

  it("refuse a kept plan after the configuration has changed", async () => {
    await run("plan", "--out", "p");
    await writeFile(join(cwd, "main.tf"), `${TEMPLATE}\noutput "more" { value = 1 }\n`);
    const { code, error } = await run("up", "p");
    expect(code).toBe(1);
    expect(error).toContain("the configuration changed since the plan was made");
  });

  it("print the values of outputs as text, JSON and bare", async () => {
    await run("up", "--yes");
    expect((await run("output")).output).toBe('secret = (sensitive value)\nword = "hello"\n');
    expect((await run("output", "word")).output).toBe('"hello"\n');
    expect((await run("output", "--raw", "secret")).output).toBe("hunter2");
    expect(JSON.parse((await run("output", "--json")).output)).toEqual({
      secret: { sensitive: true, type: "string", value: "hunter2" },
      word: { sensitive: false, type: "string", value: "hello" },
    });
    expect((await run("output", "nope")).error).toContain("There is: secret, word");
  });

  it("write events as lines of JSON", async () => {
    const { output } = await run("up", "--yes", "--json");
    const events = output
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as Record<string, unknown>);
    expect(events[0]).toMatchObject({ type: "version", ui: "1.2" });
    expect(events.map(({ type }) => type)).toEqual(
      expect.arrayContaining([
        "planned_change",
        "change_summary",
        "apply_start",
        "apply_complete",
        "outputs",
      ]),
    );
    expect(output).not.toContain("hunter2");
    expect(events.findLast(({ type }) => type === "change_summary")).toMatchObject({
      changes: { add: 2, change: 0, remove: 0, operation: "apply" },
    });
  });

  it("end with 1 and say what was done where a part fails", async () => {
    await writeFile(
      join(cwd, "main.tf"),
      `resource "terraform_data" "good" {}
       resource "terraform_data" "bad" {
         lifecycle {
           postcondition {
             condition     = self.id == ""
             error_message = "it has an id"
           }
         }
       }
       resource "terraform_data" "after" { input = terraform_data.bad.id }`,
    );
    const { code, output, error } = await run("up", "--yes");
    expect(code).toBe(1);
    expect(error).toContain("it has an id");
    expect(output).toContain("terraform_data.after: Skipped");
    expect(output).toContain("Partially applied");
  });

  it("show mistakes with their place and change nothing", async () => {
    await writeFile(join(cwd, "main.tf"), 'output "x" {\n  value = local.nope\n}\n');
    const { code, error } = await run("up", "--yes");
    expect(code).toBe(1);
    expect(error).toContain("on main.tf line 2");
  });

  it("say who writes to the store, and let readers read meanwhile", async () => {
    await run("up", "--yes");
    await using _writer = await openStore(
      { kind: "sqlite", directory: join(cwd, ".stackwright/store") },
      { blobDirectory: "" },
    );
    const { code, error } = await run("up", "--yes");
    expect(code).toBe(1);
    expect(error).toContain(`The store is in use: process ${process.pid}`);
    expect(error).toContain("--lock-timeout");
    expect(await run("plan", "-detailed-exitcode")).toMatchObject({ code: 0 });
    expect((await run("output", "-raw", "word")).output).toBe("hello");
  });

  it("wait for another writer for the given time", async () => {
    await run("up", "--yes");
    const writer = await openStore(
      { kind: "sqlite", directory: join(cwd, ".stackwright/store") },
      { blobDirectory: "" },
    );
    let ended: PromiseLike<void> | undefined;
    const { code, error } = await tryCommand(
      ["up", "--yes", "-var=word=later", "--lock-timeout", "60s"],
      {
        cwd,
        onError: (text) => {
          if (text.includes("Waiting for the store")) ended ??= writer[Symbol.asyncDispose]();
        },
      },
    );
    await ended;
    expect(error).toContain("Waiting for the store");
    expect(code).toBe(0);
  });

  it("refuse to record an infinite number, and say where it would be", async () => {
    await writeFile(
      join(cwd, "main.tf"),
      `resource "terraform_data" "a" {
  input = { size = [1, 1 / 0] }
}
output "low" {
  value = { deep = -1 / 0 }
}
output "hidden" {
  value     = { canary = 1 / 0 }
  sensitive = true
}
`,
    );
    const { code, error } = await run("up", "--yes");
    expect(code).toBe(1);
    expect(error.replaceAll(/\s*\n│?\s*/g, " ")).toContain(
      "terraform_data.a.input.size[1] would be infinite",
    );
    expect((await run("show")).output).toBe("Nothing is recorded.\n");
    await writeFile(
      join(cwd, "main.tf"),
      `output "low" {
  value = { deep = -1 / 0 }
}
output "hidden" {
  value     = { canary = 1 / 0 }
  sensitive = true
}
`,
    );
    const outputs = await run("plan");
    expect(outputs.code).toBe(1);
    expect(outputs.error).toContain("output.low.deep would be infinite");
    expect(outputs.error).toContain("output.hidden would be infinite");
    expect(outputs.error).not.toContain("canary would");
  });

  it("give a state to another stack and find nothing to do there", async () => {
    await run("up", "--yes");
    const { output } = await run("export-state");
    await writeFile(join(cwd, "state.json"), output);
    const taken = await run("import-state", "state.json", "--stack", "other");
    expect(taken.output).toContain("Took over 2 objects");
    expect(taken.output).toContain("No changes.");
    expect((await run("stacks", "--stack", "other")).output).toMatch(/ {2}default .*\n\* other /);
    const again = await run("import-state", "state.json", "--stack", "other");
    expect(again).toMatchObject({ code: 1 });
  });

  it("record an object that exists already", async () => {
    const { code, output } = await run("import", "terraform_data.a", "some-id", "--yes");
    expect(output).toContain("some-id");
    expect(code).toBe(0);
    expect((await run("state", "show", "terraform_data.a")).output).toContain('"some-id"');
    expect((await run("import", "nonsense", "x", "--yes")).error).toContain(
      "is not a valid resource address",
    );
  });

  it("change what is recorded by hand, after a look", async () => {
    await run("up", "--yes");
    const look = await run("state", "mv", "terraform_data.a", "terraform_data.z", "--dry-run");
    expect(look.output).toContain("terraform_data.a becomes terraform_data.z");
    expect((await run("state", "list")).output).toContain("terraform_data.a\n");
    await run("state", "taint", "terraform_data.b", "--yes");
    expect((await run("plan")).output).toContain("terraform_data.b must be replaced");
    await run("state", "rm", "terraform_data.b", "--yes");
    expect((await run("state", "list")).output).toBe("terraform_data.a\n");
  });
});

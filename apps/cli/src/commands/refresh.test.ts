import { mkdtempDisposable, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { type CommandResult, tryCommand } from "../testing/try-command.ts";

const READS = `
data "terraform_remote_state" "other" {
  backend = "local"
  config  = { path = "other.tfstate" }
}
`;

function stateWith(word: string): string {
  return JSON.stringify({
    version: 4,
    terraform_version: "1.11.4",
    serial: 1,
    lineage: "6c2b6e3c-6d3f-4f5d-8b3e-0d3c7d1f2a3b",
    outputs: { word: { value: word, type: "string" } },
    resources: [],
  });
}

async function project(more: string) {
  const folder = await mkdtempDisposable(join(tmpdir(), "refresh-"));
  const cwd = folder.path;
  await writeFile(join(cwd, "main.tf"), READS + more);
  const say = async (word: string) => writeFile(join(cwd, "other.tfstate"), stateWith(word));
  const run = async (...words: string[]): Promise<CommandResult> => tryCommand(words, { cwd });
  await say("first");
  return { run, say, [Symbol.asyncDispose]: async () => folder[Symbol.asyncDispose]() };
}

const OUTPUT = 'output "word" { value = data.terraform_remote_state.other.outputs.word }\n';

describe("refresh", () => {
  it.each([["refresh"], ["up", "-refresh-only"]])(
    "reads a data source whose file was changed, and records outputs: %s",
    async (...words) => {
      await using made = await project(OUTPUT);
      const { run, say } = made;
      await run("up", "--yes");
      await say("second");
      const { code, output, error } = await run(...words, "--yes");
      expect({ code, error }).toEqual({ code: 0, error: "" });
      expect(output).toContain('word = "first" -> "second"');
      expect(output).not.toContain("known after apply");
      expect(output).toContain("Plan: what was found is recorded, and no object changes.");
      expect(output).toMatch(/Outputs:\s+word = "second"/);
      expect((await run("output", "-raw", "word")).output).toBe("second");
      expect((await run("plan", "-refresh-only", "-detailed-exitcode")).code).toBe(0);
    },
  );

  it("records what a data source says that no output shows", async () => {
    await using made = await project("");
    const { run, say } = made;
    await run("refresh", "--yes");
    expect((await run("show")).output).toContain("first");
    await say("second");
    expect((await run("refresh", "--yes")).output).toContain("No changes.");
    expect((await run("show")).output).toContain("second");
  });
});

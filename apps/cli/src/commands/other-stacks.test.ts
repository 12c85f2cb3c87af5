import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type CommandResult, tryCommand } from "../testing/try-command.ts";

const READ = `
data "terraform_remote_state" "net" {
  backend = "stackwright"
  config  = { stack = "network" }
}
resource "terraform_data" "a" {
  input = data.terraform_remote_state.net.outputs.vpc
}
output "vpc" { value = terraform_data.a.output }
`;

describe("outputs of other stacks, on the command line", () => {
  let folder: string;

  /** Runs a command for a stack, each of which has a folder of its own in one store. */
  async function run(stack: string, ...words: string[]): Promise<CommandResult> {
    const env = { STACKWRIGHT_DIR: join(folder, "data"), STACKWRIGHT_STACK: stack };
    return tryCommand(words, { cwd: join(folder, stack), env });
  }

  async function write(stack: string, text: string): Promise<void> {
    await mkdir(join(folder, stack), { recursive: true });
    await writeFile(join(folder, stack, "main.tf"), text);
  }

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), "stackwright-stacks-"));
    await write("network", 'output "vpc" { value = "vpc-1" }\n');
    await write("app", READ);
  });

  afterEach(async () => {
    await rm(folder, { recursive: true });
  });

  it("are shown in the plan and with the state", async () => {
    expect(await run("app", "up", "--yes")).toMatchObject({
      code: 1,
      error: expect.stringContaining("there is no such stack") as string,
    });
    await run("network", "up", "--yes");
    const up = await run("app", "up", "--yes");
    expect(up.code).toBe(0);
    expect(up.output).toContain("Made with outputs of other stacks:\n  network (revision 1): vpc");
    expect(up.output).toContain('vpc = "vpc-1"');
    expect((await run("app", "show")).output).toContain("  network (revision 1): vpc");
  });

  it("make a kept plan stale", async () => {
    await run("network", "up", "--yes");
    expect(await run("app", "plan", "--out", "p")).toMatchObject({ code: 0 });
    expect((await run("app", "show", "p")).output).toContain("network (revision 1): vpc");
    await write("network", 'output "vpc" { value = "vpc-2" }\n');
    await run("network", "up", "--yes");
    const { code, error } = await run("app", "up", "p");
    expect(code).toBe(1);
    expect(error).toContain('the stack "network" has published other outputs');
    expect((await run("app", "state", "list")).output).toBe("");
  });

  it("come from a state file, too", async () => {
    await run("network", "up", "--yes");
    const { output } = await run("network", "export-state");
    await writeFile(join(folder, "app", "network.tfstate"), output);
    await write(
      "app",
      READ.replace('"stackwright"', '"local"').replace(
        'stack = "network"',
        'path = "network.tfstate"',
      ),
    );
    const up = await run("app", "up", "--yes");
    expect(up).toMatchObject({ code: 0, error: "" });
    expect(up.output).toContain('vpc = "vpc-1"');
    expect(up.output).not.toContain("Made with outputs");
  });
});

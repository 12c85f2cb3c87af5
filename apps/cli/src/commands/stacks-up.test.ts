import { mkdir, mkdtempDisposable, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { tryCommand } from "../testing/try-command.ts";

const read = (stack: string): string => `
data "terraform_remote_state" "${stack}" {
  backend = "stackwright"
  config  = { stack = "${stack}" }
}
`;

const network = (vpc: string): string => `
resource "terraform_data" "net" { input = "${vpc}" }
output "vpc" { value = "${vpc}" }
output "id" { value = terraform_data.net.id }
`;

const APP = `${read("network")}
resource "terraform_data" "a" { input = data.terraform_remote_state.network.outputs.vpc }
resource "terraform_data" "b" { input = data.terraform_remote_state.network.outputs.id }
output "b" { value = terraform_data.b.output }
`;

async function start(folders: Readonly<Record<string, string>>) {
  const scratch = await mkdtempDisposable(join(tmpdir(), "set-"));
  onTestFinished(() => scratch.remove());
  const write = async (name: string, text: string) => {
    await mkdir(join(scratch.path, name), { recursive: true });
    await writeFile(join(scratch.path, name, "main.tf"), text);
  };
  for (const [name, text] of Object.entries(folders)) await write(name, text);
  return {
    write,
    run: async (...words: string[]) => tryCommand(words, { cwd: scratch.path }),
  };
}

const heads = (output: string): readonly string[] => [
  ...new Set([...output.matchAll(/^Stack (\S+) \(/gm)].map(([, name]) => name ?? "")),
];

describe("stacks that are planned together", { timeout: 120_000 }, () => {
  it("are applied after one approval, each after those whose planned outputs it was made with", async () => {
    const { run, write } = await start({ app: APP, "env/network": network("v1") });
    const set = ["network=env/network", "app"];
    const plan = await run("stacks", "plan", ...set, "--detailed-exitcode");
    expect([plan.code, plan.error]).toEqual([2, ""]);
    expect(heads(plan.output)).toEqual(["network", "app"]);
    expect(plan.output).toContain("network (as planned): id, vpc");
    // A plan writes nothing.
    expect((await run("stacks")).output).toBe("");
    const unasked = await run("stacks", "up", ...set);
    expect(unasked.code).toBe(1);
    expect(unasked.error).toContain("Approval is required");
    const up = await run("stacks", "up", "--yes", "app", "network=env/network");
    expect([up.code, up.error]).toEqual([0, ""]);
    const id = (await run("output", "--stack", "network", "-raw", "id")).output;
    expect((await run("output", "--stack", "app", "-raw", "b")).output).toBe(id);
    expect((await run("stacks", "plan", ...set, "--detailed-exitcode")).code).toBe(0);
    await write("env/network", network("v2"));
    const changed = await run("stacks", "plan", ...set);
    expect(changed.output).toContain('"v1" -> "v2"');
    const { stacks } = JSON.parse((await run("stacks", "plan", "--json", ...set)).output) as {
      stacks: readonly unknown[];
    };
    expect(stacks).toMatchObject([
      { stack: "network", folder: "env/network", update: 1, inputs: [] },
      { stack: "app", update: 1, inputs: [{ stack: "network", planned: true }] },
    ]);
    expect((await run("stacks", "up", "--yes", ...set)).code).toBe(0);
    expect((await run("stacks", "plan", "--detailed-exitcode", ...set)).code).toBe(0);
  });

  it("stop at the first that fails, and are continued by the same command", async () => {
    const { run, write } = await start({
      network: `${network("v1")}
resource "terraform_data" "late" {
  lifecycle {
    postcondition {
      condition     = self.id == ""
      error_message = "not so"
    }
  }
}
`,
      app: APP,
    });
    const up = await run("stacks", "up", "--yes");
    expect(up.code).toBe(1);
    expect(up.error).toContain("not so");
    expect(up.error).toContain(
      "The stack network was not applied, so that nothing was done in app.",
    );
    expect((await run("state", "list", "--stack", "app")).output).toBe("");
    await write("network", network("v1"));
    expect((await run("stacks", "up", "--yes")).code).toBe(0);
  });

  it("are not applied where one has no plan", async () => {
    const { run } = await start({
      a: `${read("b")}output "o" { value = data.terraform_remote_state.b.outputs }`,
      b: `${read("a")}output "o" { value = data.terraform_remote_state.a.outputs }`,
      c: 'resource "terraform_data" "c" {}',
    });
    const up = await run("stacks", "up", "--yes");
    expect(up.code).toBe(1);
    expect(up.error).toContain('stacks read one another in a circle: "b" reads "a" reads "b"');
    expect(up.output).toContain("Nothing was done: each of the stacks has to have a plan.");
    expect((await run("state", "list", "--stack", "c")).output).toBe("");
  });

  it("have names of their own", async () => {
    const { run, write } = await start({ a: network("v1"), "b/a": network("v1") });
    const same = await run("stacks", "plan", "x=a", "x=b/a");
    expect(same.error).toContain('"a" and "b/a" would both be the stack "x"');
    const none = await run("stacks", "plan", "nowhere");
    expect(none.error).toContain('There is no folder "nowhere"');
    const bad = await run("stacks", "plan", "../=a");
    expect(bad.error).toContain('"../" is not a valid name of a stack');
    await write("empty/inner", "");
    const empty = await run("stacks", "plan", "a", "empty");
    expect(heads(empty.error)).toEqual(["empty"]);
    expect(empty.error).toContain("There is no configuration");
    const all = await run("stacks", "plan", "a", "b/a");
    expect(heads(all.output)).toEqual(["a", "b-a"]);
  });
});

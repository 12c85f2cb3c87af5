import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { expect, it, onTestFinished } from "vitest";
import { folderWith } from "../testing/adoption-folder.ts";

const PROVIDER = process.env["TEST_TOOL_TERRAFORM_PROVIDER_RANDOM"] ?? "";
const SOURCE = "registry.terraform.io/hashicorp/random";

/** Starts the provider as its developers do; the value for `TF_REATTACH_PROVIDERS` that it prints. */
async function startByHand(): Promise<string> {
  const child = spawn(PROVIDER, ["-debug"], { stdio: ["ignore", "pipe", "ignore"] });
  onTestFinished(async () => {
    child.kill("SIGKILL");
    if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
  });
  let output = "";
  child.stdout.on("data", (part: Buffer) => {
    output += part.toString("utf8");
  });
  const value = (): string => /TF_REATTACH_PROVIDERS='([^']+)'/.exec(output)?.[1] ?? "";
  await expect.poll(value, { timeout: 60_000 }).toContain(SOURCE);
  return value();
}

it("a provider that was started by hand is used, and neither installed nor locked", {
  timeout: 120_000,
}, async (context) => {
  context.skip(PROVIDER === "", "TEST_TOOL_TERRAFORM_PROVIDER_RANDOM is not set");
  const TF_REATTACH_PROVIDERS = await startByHand();
  const { Pid: pid } = (
    JSON.parse(TF_REATTACH_PROVIDERS) as Readonly<Record<string, { readonly Pid: number }>>
  )[SOURCE] ?? { Pid: 0 };
  const { run, path } = await folderWith({
    "main.tf": `terraform {
  required_providers {
    random = { source = "hashicorp/random" }
  }
}
resource "random_id" "a" { byte_length = 4 }
output "hex" { value = random_id.a.hex }
`,
    // No registry is there: an installation would fail.
    "cli.tfrc": `provider_installation {\n  filesystem_mirror {\n    path = "no-such-folder"\n  }\n}\n`,
  });
  const env = { TF_REATTACH_PROVIDERS, TF_CLI_CONFIG_FILE: path("cli.tfrc") };
  for (const words of [["init"], ["validate"], ["up", "-y"], ["plan", "-detailed-exitcode"]]) {
    const done = await run(words, env);
    expect(done.code, `${words.join(" ")}: ${done.output}${done.error}`).toBe(0);
  }
  expect((await run(["output", "-raw", "hex"], env)).output).toMatch(/^[0-9a-f]{8}$/);
  expect(existsSync(path(".terraform.lock.hcl"))).toBe(false);
  expect(existsSync(path(".stackwright/providers"))).toBe(false);
  expect(existsSync(path(".terraform/providers"))).toBe(false);
  // It belongs to the one who started it.
  expect(() => process.kill(pid, 0)).not.toThrow();
  expect((await run(["destroy", "-y"], env)).code).toBe(0);
  expect(() => process.kill(pid, 0)).not.toThrow();

  // Without the variable it would have to be installed.
  const without = await run(["plan"], { TF_CLI_CONFIG_FILE: path("cli.tfrc") });
  expect(without.code).toBe(1);
  expect(without.output + without.error).toContain("hashicorp/random");
});

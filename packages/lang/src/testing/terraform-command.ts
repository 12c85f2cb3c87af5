import { spawnSync } from "node:child_process";
import type { TestContext } from "vitest";

/** The reference command, or why there is none. */
type TerraformCommand = { readonly command: string } | { readonly missing: string };

/**
 * The reference command for live comparison: what `STACKWRIGHT_TERRAFORM` names, or `terraform` on
 * the path, if its version is the one that results were recorded with.
 */
export function findTerraform(): TerraformCommand {
  const command = process.env.STACKWRIGHT_TERRAFORM ?? "terraform";
  const { status, stdout } = spawnSync(command, ["version", "-json"], { encoding: "utf8" });
  if (status !== 0) return { missing: "the command terraform is not installed" };
  const version = /"terraform_version":\s*"([^"]+)"/.exec(stdout)?.[1];
  if (version?.startsWith("1.11.") === true) return { command };
  return { missing: `terraform ${version} is not the recorded 1.11` };
}

/** The command for a test, which is skipped with the reason where there is none. */
export function requireTerraform(context: TestContext): string {
  const found = findTerraform();
  if ("missing" in found) return context.skip(found.missing);
  return found.command;
}

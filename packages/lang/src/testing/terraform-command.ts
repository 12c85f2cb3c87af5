import { spawnSync } from "node:child_process";

/**
 * The reference command for live comparison: what `STACKWRIGHT_TERRAFORM` names, or `terraform` on
 * the path. Undefined where there is none, or a version other than the one results were recorded
 * with; the reason is printed.
 */
export function terraformCommand(): string | undefined {
  const command = process.env.STACKWRIGHT_TERRAFORM ?? "terraform";
  const { status, stdout } = spawnSync(command, ["version", "-json"], { encoding: "utf8" });
  if (status !== 0) {
    skip("the command terraform is not installed");
    return undefined;
  }
  const version = /"terraform_version":\s*"([^"]+)"/.exec(stdout)?.[1];
  if (version?.startsWith("1.11.") === true) return command;
  skip(`terraform ${version} is not the recorded 1.11`);
  return undefined;
}

function skip(reason: string): void {
  process.stderr.write(`skipped comparison with the command (STACKWRIGHT_TERRAFORM): ${reason}\n`);
}

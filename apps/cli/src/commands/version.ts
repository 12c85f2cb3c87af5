import { join } from "node:path";
import { LOCK_FILE_NAME, readLockFile } from "@stackwright/provider-source";
import type { CalledAs } from "../called-as.ts";
import type { CommandContext } from "../command-context.ts";
import { commandVersion } from "../command-version.ts";
import { EXIT, type ExitCode } from "../exit-code.ts";

/**
 * Shows the version. As JSON it has the members of the reference command as well, which wrappers read. Under the name of such a
 * command the first line is the version that is implemented, where wrappers look for it.
 */
export async function version(
  { json }: { readonly json: boolean },
  { terminal, directory, calledAs }: CommandContext,
): Promise<ExitCode> {
  const number = commandVersion();
  const platform = `${process.platform}_${process.arch === "x64" ? "amd64" : process.arch}`;
  const selections = await lockedVersions(directory);
  if (json) {
    const document = {
      terraform_version: await implementedVersion(calledAs),
      platform,
      provider_selections: selections,
      terraform_outdated: false,
      stackwright_version: number,
      node: process.versions.node,
    };
    terminal.write(`${JSON.stringify(document)}\n`);
    return EXIT.ok;
  }
  if (calledAs !== "stackwright") {
    const name = calledAs === "tofu" ? "OpenTofu" : "Terraform";
    terminal.write(`${name} v${await implementedVersion(calledAs)}\n`);
  }
  terminal.write(`Stackwright v${number}\non ${platform}, Node.js ${process.versions.node}\n`);
  for (const [source, selected] of Object.entries(selections)) {
    terminal.write(`+ provider ${source} v${selected}\n`);
  }
  return EXIT.ok;
}

/** The version of the reference command whose language is implemented. */
async function implementedVersion(calledAs: CalledAs): Promise<string> {
  // The other text needs nothing of core, whose modules take most of the start.
  const { LANGUAGE_VERSION, OPENTOFU_VERSION } = await import("@stackwright/core");
  return calledAs === "tofu" ? OPENTOFU_VERSION : LANGUAGE_VERSION;
}

/** The versions of the lock file. One that cannot be read does not keep the version from being shown. */
async function lockedVersions(directory: string): Promise<Record<string, string>> {
  const file = await readLockFile(join(directory, LOCK_FILE_NAME)).catch(() => undefined);
  const providers = [...(file?.locks.providers ?? [])];
  return Object.fromEntries(providers.map(([source, lock]) => [source, lock.version.toString()]));
}

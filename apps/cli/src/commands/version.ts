import { join } from "node:path";
import { LOCK_FILE_NAME, readLockFile } from "@stackwright/provider-source";
import type { CommandContext } from "../command-context.ts";
import { commandVersion } from "../command-version.ts";
import { EXIT, type ExitCode } from "../exit-code.ts";

/** Shows the version. As JSON it has the members of the reference command as well, which wrappers read. */
export async function version(
  { json }: { readonly json: boolean },
  { terminal, directory }: CommandContext,
): Promise<ExitCode> {
  const number = commandVersion();
  const platform = `${process.platform}_${process.arch === "x64" ? "amd64" : process.arch}`;
  const selections = await lockedVersions(directory);
  if (json) {
    // The text needs nothing of core, whose modules take most of the start.
    const { LANGUAGE_VERSION } = await import("@stackwright/core");
    const document = {
      terraform_version: LANGUAGE_VERSION,
      platform,
      provider_selections: selections,
      terraform_outdated: false,
      stackwright_version: number,
      node: process.versions.node,
    };
    terminal.write(`${JSON.stringify(document)}\n`);
    return EXIT.ok;
  }
  terminal.write(`Stackwright v${number}\non ${platform}, Node.js ${process.versions.node}\n`);
  for (const [source, selected] of Object.entries(selections)) {
    terminal.write(`+ provider ${source} v${selected}\n`);
  }
  return EXIT.ok;
}

/** The versions of the lock file. One that cannot be read does not keep the version from being shown. */
async function lockedVersions(directory: string): Promise<Record<string, string>> {
  const file = await readLockFile(join(directory, LOCK_FILE_NAME)).catch(() => undefined);
  const providers = [...(file?.locks.providers ?? [])];
  return Object.fromEntries(providers.map(([source, lock]) => [source, lock.version.toString()]));
}

import { join } from "node:path";
import { hasErrors } from "@stackwright/lang";
import { LOCK_FILE_NAME, readLockFile } from "@stackwright/provider-source";
import {
  loadCliConfiguration,
  type MirrorProblem,
  mirrorProviders,
} from "@stackwright/tfplugin/install";
import type { CommandContext } from "../command-context.ts";
import { EXIT, type ExitCode } from "../exit-code.ts";
import { showDiagnostics } from "../render/show-diagnostics.ts";
import { authenticationText, requirementsOf } from "../session/install.ts";
import { loadProject } from "../session/project.ts";
import { platformsOf } from "./providers-lock.ts";

export interface ProvidersMirrorOptions {
  /** Such as `linux_amd64`. Empty: that of this machine. */
  readonly platform: readonly string[];
  /** False: ignores the lock file and selects the newest allowed versions. */
  readonly lockFile: boolean;
}

/** Copies the packages of all required providers from their registries into a folder that can be a mirror. */
export async function providersMirror(
  target: string,
  options: ProvidersMirrorOptions,
  context: CommandContext,
): Promise<ExitCode> {
  const { terminal, directory, env, signal } = context;
  const platforms = platformsOf(options.platform);
  const project = await loadProject(context);
  if (hasErrors(project.configuration.diagnostics)) {
    showDiagnostics(terminal, project.configuration.diagnostics);
    return EXIT.failed;
  }
  const lock = options.lockFile
    ? (await readLockFile(join(directory, LOCK_FILE_NAME)))?.locks
    : undefined;
  const { problems } = await mirrorProviders({
    requirements: requirementsOf(project),
    ...(lock !== undefined && { lock }),
    platforms,
    directory: target,
    configuration: await loadCliConfiguration({ env, cwd: directory }),
    cwd: directory,
    onPackage: ({ address, version, platform, authentication }) => {
      const what = `${address.toString()} ${version.toString()} for ${platform.toString()}`;
      terminal.write(`${what}${authenticationText(authentication)}\n`);
    },
    signal,
  });
  for (const problem of problems) terminal.writeError(`Error: ${problemText(problem)}\n`);
  return problems.length === 0 ? EXIT.ok : EXIT.failed;
}

function problemText({ address, version, platform, error }: MirrorProblem): string {
  const which = [version?.toString(), platform && `for ${platform.toString()}`]
    .filter((part) => part !== undefined)
    .join(" ");
  const why = error instanceof Error ? error.message : String(error);
  return `${address.toString()}${which === "" ? "" : ` ${which}`} was not mirrored: ${why}`;
}

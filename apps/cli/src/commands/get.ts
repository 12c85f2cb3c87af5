import { hasErrors } from "@stackwright/lang";
import type { CommandContext } from "../command-context.ts";
import { EXIT, type ExitCode } from "../exit-code.ts";
import { showDiagnostics } from "../render/show-diagnostics.ts";
import { installedModuleLines } from "../session/modules.ts";
import { loadProject } from "../session/project.ts";

export interface GetOptions {
  /** Ignores the lock file and selects the newest allowed versions. */
  readonly update: boolean;
  readonly offline: boolean;
}

/** Installs the modules that a configuration calls. */
export async function get(options: GetOptions, context: CommandContext): Promise<ExitCode> {
  const { terminal } = context;
  const { configuration, modules } = await loadProject(context, undefined, {
    mode: options.update ? "upgrade" : "missing",
    ...(options.offline && { offline: true }),
    adopts: true,
    quiet: true,
  });
  for (const line of installedModuleLines(modules)) terminal.write(`${line}\n`);
  showDiagnostics(terminal, configuration.diagnostics);
  return hasErrors(configuration.diagnostics) ? EXIT.failed : EXIT.ok;
}

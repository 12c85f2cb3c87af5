import { hasErrors } from "@stackwright/lang";
import type { CommandContext } from "../command-context.ts";
import { EXIT, type ExitCode } from "../exit-code.ts";
import { showDiagnostics } from "../render/show-diagnostics.ts";
import { installedModuleLines } from "../session/modules.ts";
import { loadProject } from "../session/project.ts";
import { checkedFolder } from "../session/test-folder.ts";

export interface GetOptions {
  /** Ignores the lock file and selects the newest allowed versions. */
  readonly update: boolean;
  readonly offline: boolean;
  /** The folder of test files, whose modules are installed as well. */
  readonly testDirectory: string;
}

/** Installs the modules that a configuration calls. */
export async function get(options: GetOptions, context: CommandContext): Promise<ExitCode> {
  const { terminal } = context;
  const { configuration, modules, tests } = await loadProject(context, undefined, {
    mode: options.update ? "upgrade" : "missing",
    ...(options.offline && { offline: true }),
    adopts: true,
    quiet: true,
    testFolder: checkedFolder(options.testDirectory),
  });
  for (const line of installedModuleLines(modules)) terminal.write(`${line}\n`);
  const diagnostics = [...configuration.diagnostics, ...(tests?.diagnostics ?? [])];
  showDiagnostics(terminal, diagnostics);
  return hasErrors(diagnostics) ? EXIT.failed : EXIT.ok;
}

import { hasErrors, hideCredentials } from "@stackwright/lang";
import type { CommandContext } from "../command-context.ts";
import { CommandError } from "../command-error.ts";
import { commandVersion } from "../command-version.ts";
import { EXIT, type ExitCode } from "../exit-code.ts";
import { JsonEvents } from "../render/json-events.ts";
import { showDiagnostics } from "../render/show-diagnostics.ts";
import { copyModule } from "../session/copy-module.ts";
import { install, installedLines } from "../session/install.ts";
import { installPluginsOf, pluginLines } from "../session/install-plugins.ts";
import { installedModuleLines } from "../session/modules.ts";
import { overrideWarning } from "../session/override-warning.ts";
import { loadProject } from "../session/project.ts";
import { checkedFolder } from "../session/test-folder.ts";

export interface InitOptions {
  readonly json: boolean;
  readonly upgrade: boolean;
  /** False: modules are not installed. */
  readonly get: boolean;
  readonly offline: boolean;
  readonly lockfile?: "readonly";
  /** Folders with packages of providers, which replace all other places to install from. */
  readonly pluginDir: readonly string[];
  /** The folder of test files, whose modules are installed as well. */
  readonly testDirectory: string;
  /** The address of a module that is copied into the directory first. */
  readonly fromModule?: string;
}

/** Brings what a configuration needs: modules and providers. Other commands do it as well, where something is missing. */
export async function init(options: InitOptions, context: CommandContext): Promise<ExitCode> {
  const { terminal } = context;
  const { upgrade, lockfile, offline } = options;
  const writesLock = lockfile !== "readonly";
  if (upgrade && !writesLock) {
    throw new CommandError('"-upgrade" and "-lockfile=readonly" cannot be used together.');
  }
  const { fromModule } = options;
  if (fromModule !== undefined) {
    await copyModule(fromModule, context, { offline });
    if (!options.json) terminal.write(`Copied the module ${hideCredentials(fromModule)}\n`);
  }
  const project = await loadProject(context, undefined, {
    mode: options.get ? (upgrade ? "upgrade" : "missing") : "never",
    ...(offline && { offline }),
    writesLock,
    adopts: true,
    quiet: true,
    testFolder: checkedFolder(options.testDirectory),
  });
  // What is wrong inside of expressions is left to the commands that evaluate them: it changes nothing of what is installed.
  const diagnostics = [
    ...project.configuration.installDiagnostics,
    ...(project.tests?.diagnostics ?? []),
  ];
  const failed = hasErrors(diagnostics);
  const installed = failed
    ? new Map()
    : await install(project, context, { upgrade, writesLock, pluginFolders: options.pluginDir });
  const plugins = failed
    ? new Map()
    : await installPluginsOf(project, context, { upgrade, writesLock });
  const lines = [
    ...installedModuleLines(project.modules),
    ...installedLines(installed),
    ...pluginLines(plugins),
  ];
  const overridden = overrideWarning(installed);
  const found = overridden === undefined ? diagnostics : [...diagnostics, overridden];
  if (options.json) {
    const events = new JsonEvents({ terminal, operation: "plan" });
    events.version(commandVersion());
    for (const line of lines) events.log(line);
    for (const diagnostic of found) events.diagnostic(diagnostic);
  } else {
    for (const line of lines) terminal.write(`${line}\n`);
    showDiagnostics(terminal, found);
    if (!failed) terminal.write("Everything that the configuration needs is here.\n");
  }
  return failed ? EXIT.failed : EXIT.ok;
}

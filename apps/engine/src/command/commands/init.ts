import { hasErrors } from "@stackwright/lang";
import type { CommandContext } from "../command-context.ts";
import { EXIT, type ExitCode } from "../exit-code.ts";
import { JsonEvents } from "../json-events.ts";
import { loadProject } from "../project.ts";
import { showDiagnostics } from "../show-diagnostics.ts";
import { engineVersion } from "./version.ts";

export interface InitOptions {
  readonly json: boolean;
  readonly upgrade: boolean;
}

/** Brings what a configuration needs: modules and providers. Other commands do it as well, where something is missing. */
export async function init(options: InitOptions, context: CommandContext): Promise<ExitCode> {
  const { terminal } = context;
  const { configuration } = await loadProject(context);
  const failed = hasErrors(configuration.diagnostics);
  if (options.json) {
    const events = new JsonEvents({ terminal, operation: "plan" });
    events.version(engineVersion());
    for (const diagnostic of configuration.diagnostics) events.diagnostic(diagnostic);
  } else {
    showDiagnostics(terminal, configuration.diagnostics);
    if (!failed) terminal.write("Everything that the configuration needs is here.\n");
  }
  return failed ? EXIT.failed : EXIT.ok;
}

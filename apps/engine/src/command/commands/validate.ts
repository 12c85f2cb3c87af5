import { hasErrors } from "@stackwright/lang";
import type { CommandContext } from "../command-context.ts";
import { EXIT, type ExitCode } from "../exit-code.ts";
import { loadProject } from "../project.ts";
import { diagnosticsReport, showDiagnostics } from "../show-diagnostics.ts";

/**
 * Checks the configuration without values, state or anything outside; what a provider's schema says of arguments is
 * checked by `plan`.
 */
export async function validate(
  { json }: { readonly json: boolean },
  context: CommandContext,
): Promise<ExitCode> {
  const { terminal } = context;
  const { diagnostics } = (await loadProject(context)).configuration;
  const ok = !hasErrors(diagnostics);
  if (json) {
    terminal.write(`${JSON.stringify(diagnosticsReport(diagnostics), undefined, 2)}\n`);
  } else {
    showDiagnostics(terminal, diagnostics);
    if (ok) {
      const but = diagnostics.length > 0 ? ", with the warnings above" : "";
      terminal.write(`${terminal.style.paint("success", "The configuration is valid")}${but}.\n`);
    }
  }
  return ok ? EXIT.ok : EXIT.failed;
}

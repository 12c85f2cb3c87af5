import {
  type Diagnostic,
  diagnosticToJson,
  hasErrors,
  type JsonDiagnostic,
  renderDiagnostic,
} from "@stackwright/lang";
import type { Terminal } from "../terminal/terminal.ts";

/** Writes diagnostics as text to standard error. */
export function showDiagnostics(
  terminal: Terminal,
  diagnostics: readonly Diagnostic[],
  options: { readonly compactWarnings?: boolean } = {},
): void {
  if (options.compactWarnings === true && !hasErrors(diagnostics)) {
    if (diagnostics.length > 0) terminal.writeError(compactText(diagnostics));
    return;
  }
  for (const diagnostic of diagnostics) {
    terminal.writeError(
      renderDiagnostic(diagnostic, { color: terminal.style.color, width: terminal.width }),
    );
  }
}

/** Warnings as one line each; equal ones once, with their number. */
function compactText(diagnostics: readonly Diagnostic[]): string {
  const counts = new Map<string, number>();
  for (const { summary } of diagnostics) counts.set(summary, (counts.get(summary) ?? 0) + 1);
  const lines = [...counts].map(
    ([summary, count]) => `- ${summary}${count === 1 ? "" : ` (${count} times)`}`,
  );
  return `Warnings:\n\n${lines.join("\n")}\n\n`;
}

/** The outcome of a check, in the form of the reference command's `validate -json`. */
export interface JsonReport {
  readonly format_version: "1.0";
  readonly valid: boolean;
  readonly error_count: number;
  readonly warning_count: number;
  readonly diagnostics: readonly JsonDiagnostic[];
}

export function diagnosticsReport(diagnostics: readonly Diagnostic[]): JsonReport {
  const errors = diagnostics.filter(({ severity }) => severity === "error").length;
  return {
    format_version: "1.0",
    valid: !hasErrors(diagnostics),
    error_count: errors,
    warning_count: diagnostics.length - errors,
    diagnostics: diagnostics.map((diagnostic) => diagnosticToJson(diagnostic)),
  };
}

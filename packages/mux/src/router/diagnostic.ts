import type { Path } from "@stackwright/cty";

/**
 * Something a provider has to say about a call, addressed at the person who wrote the template.
 * Business errors are diagnostics in a reply that otherwise succeeded; an exception means that the
 * provider could not answer at all.
 */
export interface ProviderDiagnostic {
  readonly severity: "error" | "warning";
  /** One line, without a trailing full stop. */
  readonly summary: string;
  /** What happened and what to do; may have several lines, may be empty. */
  readonly detail: string;
  /** The attribute in question, relative to the object of the call; absent: the whole object. */
  readonly attribute?: Path;
}

/** Whether any of the diagnostics is an error. */
export function hasProviderErrors(diagnostics: readonly ProviderDiagnostic[]): boolean {
  return diagnostics.some(({ severity }) => severity === "error");
}

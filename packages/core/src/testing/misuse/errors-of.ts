/** The summaries of errors among diagnostics, sorted. */
export function errorsOf(
  found: readonly { readonly severity: string; readonly summary: string }[],
): readonly string[] {
  return found
    .filter(({ severity }) => severity === "error")
    .map(({ summary }) => summary)
    .toSorted();
}

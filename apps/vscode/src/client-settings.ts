/** What the user set. */
export interface Settings {
  readonly command: string;
  readonly arguments: readonly string[];
  readonly providers: boolean;
  readonly plannedChanges: boolean;
  readonly valueHints: boolean;
}

/** The program that the editor starts, which speaks the protocol over standard input and output. */
export function serverCommand({
  command,
  arguments: before,
  providers,
}: Pick<Settings, "command" | "arguments" | "providers">): {
  readonly command: string;
  readonly args: string[];
} {
  const args = [...before, "lsp", "--stdio"];
  return { command, args: providers ? args : [...args, "--no-providers"] };
}

/**
 * What the server learns of the editor: whether programs that the workspace brings may be started, so that it asks nothing itself, and whether
 * saved files are planned, and hints say what names stand for.
 */
export function initializationOptions(
  isTrusted: boolean,
  { plannedChanges, valueHints }: Pick<Settings, "plannedChanges" | "valueHints">,
): Pick<Settings, "plannedChanges" | "valueHints"> & { readonly trusted: boolean } {
  return { trusted: isTrusted, plannedChanges, valueHints };
}

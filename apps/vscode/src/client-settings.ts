/** What the user set. */
export interface Settings {
  readonly command: string;
  readonly arguments: readonly string[];
  readonly providers: boolean;
}

/** The program that the editor starts, which speaks the protocol over standard input and output. */
export function serverCommand({ command, arguments: before, providers }: Settings): {
  readonly command: string;
  readonly args: string[];
} {
  const args = [...before, "lsp", "--stdio"];
  return { command, args: providers ? args : [...args, "--no-providers"] };
}

/** What the server learns of the editor: whether programs that the workspace brings may be started. Then it asks nothing itself. */
export function initializationOptions(isTrusted: boolean): { readonly trusted: boolean } {
  return { trusted: isTrusted };
}

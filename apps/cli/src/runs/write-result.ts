import type { CommandContext } from "../command-context.ts";

/** Writes what a server answered: as JSON where that was asked for, else as text. */
export function writeResult(
  { terminal }: Pick<CommandContext, "terminal">,
  { json }: { readonly json: boolean },
  data: object,
  text: string,
): void {
  terminal.write(json ? `${JSON.stringify(data, undefined, 2)}\n` : `${text}\n`);
}

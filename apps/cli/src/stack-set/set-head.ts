import type { CommandContext } from "../command-context.ts";
import type { SetFolder } from "./set-folders.ts";

/** The line above what is about one stack. */
export function headOf(
  { stack, shown }: SetFolder,
  { style }: Pick<CommandContext["terminal"], "style">,
): string {
  return `\n${style.paint("strong", `Stack ${stack}`)} (${shown}):\n\n`;
}

import type { Command } from "commander";
import type { CommandProcess } from "../command-context.ts";
import type { LspOptions } from "../commands/lsp.ts";
import type { CommandAction, Define } from "./program.ts";

/** The command that editors start. */
export function defineEditorCommands(
  define: Define,
  run: CommandAction,
  { streams }: CommandProcess,
): void {
  define("lsp", "serve an editor with the Language Server Protocol, over standard input and output")
    // Editors give it, also where there is nothing else.
    .option("--stdio", "over standard input and output, as without it", true)
    .option("--no-providers", "start no provider: for folders of others that you do not trust")
    .action(async (options: LspOptions, command: Command) => {
      const { lsp } = await import("../commands/lsp.ts");
      await run(command, async (context) => lsp(options, streams, context));
    });
}

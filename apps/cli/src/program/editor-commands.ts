import type { Command } from "commander";
import type { CommandProcess } from "../command-context.ts";
import type { DocsOptions } from "../commands/docs.ts";
import type { LspOptions } from "../commands/lsp.ts";
import type { CommandAction, Define } from "./program.ts";

/** The command that editors start, and the documentation. */
export function defineEditorCommands(
  define: Define,
  run: CommandAction,
  { streams }: CommandProcess,
): void {
  define("lsp", "serve an editor with the Language Server Protocol, over standard input and output")
    // Editors give it, also where there is nothing else.
    .option("--stdio", "over standard input and output, as without it", true)
    .option(
      "--port <port>",
      "instead over a port of 127.0.0.1, for one client; 0 takes any that is free",
    )
    .option("--no-providers", "start no provider: for folders of others that you do not trust")
    .option("--trust <folder>", "let editors start the providers that this folder brings, and end")
    .option("--forget <folder>", "take that back for this folder and those below, and end")
    .action(async (options: LspOptions, command: Command) => {
      const { lsp } = await import("../commands/lsp.ts");
      await run(command, async (context) => lsp(options, streams, context));
    });
  define("docs", "serve the documentation to browsers of this machine; it needs no network")
    .option("--port <port>", "port to listen on; any that is free without it", "0")
    .action(async (options: DocsOptions, command: Command) => {
      const { docs } = await import("../commands/docs.ts");
      await run(command, async (context) => docs(options, context));
    });
}

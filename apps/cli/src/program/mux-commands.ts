import type { Command } from "commander";
import type { MuxOptions, MuxReportOptions } from "../commands/mux.ts";
import type { CommandAction, Define } from "./program.ts";

/** Commands that are about providers of several programs as one provider of Pulumi's protocol. */
export function defineMuxCommands(define: Define, run: CommandAction): void {
  const mux = define(
    "mux",
    "several providers as one for engines of Pulumi, from stackwright.providers.json",
  );

  withMuxOptions(
    define(
      "serve [arguments...]",
      "serve it: prints a port, calls the engine back at the address that is given behind --",
      mux,
    ),
  ).action(async (given: string[], options: MuxOptions, command: Command) => {
    const { muxServe } = await import("../commands/mux-serve.ts");
    await run(command, async (context) => muxServe(given, options, context));
  });

  withMuxOptions(
    define(
      "explain [tokens...]",
      "which program serves which token and why, conflicts, and which programs are there",
      mux,
    ),
  )
    .option("--json", "as JSON", false)
    .action(async (tokens: string[], options: MuxReportOptions, command: Command) => {
      const { muxExplain } = await import("../commands/mux.ts");
      await run(command, async (context) => muxExplain(tokens, options, context));
    });

  withMuxOptions(
    define(
      "check",
      "exit with 1 where a program is missing or a name has no owner, for pipelines",
      mux,
    ),
  )
    .option("--json", "as JSON", false)
    .action(async (options: MuxReportOptions, command: Command) => {
      const { muxCheck } = await import("../commands/mux.ts");
      await run(command, async (context) => muxCheck(options, context));
    });
}

function withMuxOptions(command: Command): Command {
  return command
    .option(
      "--provider <source>",
      "which provider of the file, by its source or its last part; needed where there are several",
    )
    .option(
      "--store <address>",
      "the store with the registry of private programs (STACKWRIGHT_STORE)",
    )
    .option("--registry <url>", "where private programs are registered (STACKWRIGHT_REGISTRY)");
}

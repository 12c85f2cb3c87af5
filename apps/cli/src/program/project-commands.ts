import type { Command } from "commander";
import type { ConsoleOptions } from "../commands/console.ts";
import type { FmtOptions } from "../commands/fmt.ts";
import type { GraphOptions } from "../commands/graph.ts";
import type { ValidateOptions } from "../commands/validate.ts";
import { withTestDirectory } from "./module-commands.ts";
import type { CommandAction, Define } from "./program.ts";
import { withInputs, withStoreOptions } from "./run-commands.ts";

/** Commands that are about a configuration alone. */
export function defineProjectCommands(define: Define, run: CommandAction): void {
  define("fmt [paths...]", "write files in the canonical style")
    .option("--no-list", "do not list the files that change")
    .option("--no-write", "write nothing")
    .option("--diff", "show what changes", false)
    .option("--check", "write nothing; exit code 3 where something is not in style", false)
    .option("--recursive", "folders below as well", false)
    .action(async (paths: string[], options: FmtOptions, command: Command) => {
      const { fmt } = await import("../commands/fmt.ts");
      await run(command, async (context) => fmt(paths, options, context));
    });

  withTestDirectory(
    define(
      "validate",
      "check the configuration and its arguments, with the providers that are installed",
    ),
  )
    .option("--json", "as JSON", false)
    .option("--no-tests", "do not check test files")
    .action(async (options: ValidateOptions, command: Command) => {
      const { validate } = await import("../commands/validate.ts");
      await run(command, async (context) => validate(options, context));
    });

  define("graph", "draw what depends on what")
    .option("--format <format>", "dot, mermaid, svg or html", "dot")
    .option("--type <type>", "of an operation: plan, plan-refresh-only, plan-destroy or apply")
    .option("--all", "variables, locals and outputs as well", false)
    .action(async (options: GraphOptions, command: Command) => {
      const { graph } = await import("../commands/graph.ts");
      await run(command, async (context) => graph(options, context));
    });

  const consoleOf = withStoreOptions(
    define("console", "answer expressions, one per line of standard input"),
  )
    .option("--json", "each answer as one line of JSON", false)
    .option("--plan", "evaluate over the planned state", false);
  const inputs = withInputs(consoleOf);
  consoleOf.action(async (options: ConsoleOptions, command: Command) => {
    const { consoleCommand } = await import("../commands/console.ts");
    await run(command, async (context) =>
      consoleCommand({ ...options, inputs: inputs() }, context),
    );
  });

  define("version", "which version this is")
    .option("--json", "as JSON", false)
    .action(async (options: { json: boolean }, command: Command) => {
      const { version } = await import("../commands/version.ts");
      await run(command, async (context) => version(options, context));
    });
}

import type { Command } from "commander";
import type { CiChangedOptions } from "../commands/ci-changed.ts";
import type { CommandAction, Define } from "./program.ts";

/** Commands for pipelines. */
export function defineCiCommands(define: Define, run: CommandAction): void {
  const ci = define("ci", "help for pipelines");
  define("changed", "list the root modules that the changes of a branch concern", ci)
    .requiredOption("--base <commit>", "where the branch goes to, such as origin/main")
    .option("--json", "as JSON, with the files", false)
    .action(async (options: CiChangedOptions, command: Command) => {
      const { ciChanged } = await import("../commands/ci-changed.ts");
      await run(command, async (context) => ciChanged(options, context));
    });
}

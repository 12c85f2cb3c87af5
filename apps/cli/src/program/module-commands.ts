import { type Command, Option } from "commander";
import type { GetOptions } from "../commands/get.ts";
import type { InitOptions } from "../commands/init.ts";
import type { CommandAction, Define } from "./program.ts";
import { definePublishedModuleCommands } from "./published-module-commands.ts";
import { collect } from "./run-commands.ts";

/** Commands that install what a configuration needs. */
export function defineModuleCommands(define: Define, run: CommandAction): void {
  withTestDirectory(
    withOffline(define("init", "install the modules and providers that the configuration needs")),
  )
    .option("--upgrade", "the newest versions that are allowed, regardless of the lock file", false)
    .option("--no-get", "use the modules that are installed; a missing one is an error")
    .addOption(
      new Option("--lockfile <mode>", "readonly: the lock files are not changed").choices([
        "readonly",
      ]),
    )
    .option("--from-module <source>", "copy this module into the empty folder first")
    .option("--plugin-dir <folder>", "install providers from this folder alone", collect, [])
    .option("--json", "lines of JSON instead of text", false)
    .action(async (options: InitOptions, command: Command) => {
      const { init } = await import("../commands/init.ts");
      await run(command, async (context) => init(options, context));
    });

  withTestDirectory(withOffline(define("get", "install the modules that the configuration calls")))
    .option("--update", "the newest versions that are allowed, regardless of the lock file", false)
    .action(async (options: GetOptions, command: Command) => {
      const { get } = await import("../commands/get.ts");
      await run(command, async (context) => get(options, context));
    });

  const called = define("modules", "list the modules that the configuration calls");
  called
    .option("--json", "as JSON", false)
    .action(async (options: { json: boolean }, command: Command) => {
      const { modules } = await import("../commands/modules.ts");
      await run(command, async (context) => modules(options, context));
    });
  definePublishedModuleCommands(define, run, called);
}

/** Where test files are besides the folder itself. */
export function withTestDirectory(command: Command): Command {
  return command.option("--test-directory <folder>", "the folder of test files", "tests");
}

function withOffline(command: Command): Command {
  return command.option(
    "--offline",
    "use no network for modules: only those that are installed or in the cache",
    false,
  );
}

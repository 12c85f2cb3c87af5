import type { Command } from "commander";
import type { HookOptions } from "../commands/hooks.ts";
import type { CommandAction, Define } from "./program.ts";

/** Commands about what runs execute before and after a plan and an apply. */
export function defineHookCommands(define: Define, run: CommandAction): void {
  const hooks = define("hooks", "commands that runs execute around plans and applies");

  withPlace(define("show", "show the hooks of a project, or of a stack", hooks)).action(
    async (options: HookOptions, command: Command) => {
      const { hooksShow } = await import("../commands/hooks.ts");
      await run(command, async (context) => hooksShow(options, context));
    },
  );

  withPlace(
    define("set <file>", "set them to those of a JSON file, in place of the former ones", hooks),
  ).action(async (file: string, options: HookOptions, command: Command) => {
    const { hooksSet } = await import("../commands/hooks.ts");
    await run(command, async (context) => hooksSet(file, options, context));
  });
}

function withPlace(command: Command): Command {
  return command
    .option("--server <url>", "address of the server; without it that of the last login")
    .option("--project <name>", "the project; STACKWRIGHT_PROJECT, or default")
    .option("--stack <name>", "a stack of the project; the project itself without it")
    .option("--json", "write JSON", false);
}

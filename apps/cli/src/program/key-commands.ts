import type { Command } from "commander";
import type { KeysListOptions, KeysRewrapOptions } from "../commands/keys.ts";
import type { StoreOptions } from "../session/session.ts";
import type { CommandAction, Define } from "./program.ts";
import { withStoreOptions } from "./run-commands.ts";

/** Commands for the keys that encrypt secrets. */
export function defineKeyCommands(define: Define, run: CommandAction): void {
  const keys = define("keys", "list, rotate and rewrap the keys that encrypt secrets");

  withStoreOptions(define("list", "list the data keys of the stack", keys))
    .option("--json", "as JSON", false)
    .action(async (options: KeysListOptions, command: Command) => {
      const { keysList } = await import("../commands/keys.ts");
      await run(command, async (context) => keysList(options, context));
    });

  withStoreOptions(
    define("rotate", "add a data key for new writes; recorded secrets keep theirs", keys),
  ).action(async (options: StoreOptions, command: Command) => {
    const { keysRotate } = await import("../commands/keys.ts");
    await run(command, async (context) => keysRotate(options, context));
  });

  withStoreOptions(define("rewrap", "wrap all data keys with the current key-encryption key", keys))
    .option("--all-stacks", "all stacks of the project", false)
    .option("--from-key-file <file>", "read the former key-encryption key from a file")
    .option("--from-key-variable <name>", "read it from an environment variable")
    .option("--from-key-command <command>", "read it from the output of a command")
    .action(async (options: KeysRewrapOptions, command: Command) => {
      const { keysRewrap } = await import("../commands/keys.ts");
      await run(command, async (context) => keysRewrap(options, context));
    });
}

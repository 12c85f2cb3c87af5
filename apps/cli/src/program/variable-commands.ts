import type { Command } from "commander";
import type { SetOptions } from "../commands/variable-sets.ts";
import type { CommandAction, Define } from "./program.ts";
import { collect } from "./run-commands.ts";
import { withServerOptions } from "./server-run-commands.ts";

interface Parsed extends SetOptions {
  readonly set?: string;
  readonly env: boolean;
  readonly sensitive: boolean;
}

/** Commands about the variables of stacks on a server. */
export function defineVariableCommands(define: Define, run: CommandAction): void {
  const variables = define("variables", "show and set variables of stacks on a server");

  withSet(
    withServerOptions(define("list", "list what runs of a stack have, and where from", variables)),
  ).action(async (options: Parsed, command: Command) => {
    const { variablesList } = await import("../commands/variables.ts");
    await run(command, async (context) => variablesList(options, context));
  });

  withSet(
    withServerOptions(define("set <key> [value]", "set a variable of a stack or a set", variables)),
  )
    .option("--env", "a variable of the environment of providers", false)
    .option("--sensitive", "store it encrypted, and show it never", false)
    .option("--value-file <file>", "the value, as the file has it")
    .option("--description <text>", "explanation of the variable")
    .action(async (key: string, value: string | undefined, options: Parsed, command: Command) => {
      const { variablesSet } = await import("../commands/variables.ts");
      await run(command, async (context) => variablesSet(key, value, options, context));
    });

  withSet(
    withServerOptions(define("unset <key>", "delete a variable of a stack or a set", variables)),
  )
    .option("--env", "a variable of the environment of providers", false)
    .action(async (key: string, options: Parsed, command: Command) => {
      const { variablesUnset } = await import("../commands/variables.ts");
      await run(command, async (context) => variablesUnset(key, options, context));
    });

  ofAccount(
    withServerOptions(
      define("sets", "list the variable sets of a project, or of the account", variables),
    ),
  ).action(async (options: SetOptions, command: Command) => {
    const { variablesSets } = await import("../commands/variable-sets.ts");
    await run(command, async (context) => variablesSets(options, context));
  });

  ofAccount(
    withServerOptions(define("save-set <name>", "create or change a variable set", variables)),
  )
    .option(
      "--for-project <pattern>",
      "projects that a set of the account is for, such as net-*; may be repeated",
      collect,
      [],
    )
    .option(
      "--for <pattern>",
      "stacks that it is for, such as web-*, or net/web-* with --of-account, or / for none; may be repeated",
      collect,
      [],
    )
    .option("--for-all", "for all stacks of the project, or of the account", false)
    .option("--priority", "its values win over those of the stacks and of runs")
    .option("--no-priority", "its values give way to those of the stacks")
    .option("--description <text>", "explanation of the set")
    .action(
      async (
        name: string,
        options: SetOptions & {
          for: readonly string[];
          forProject: readonly string[];
          forAll: boolean;
        },
        command: Command,
      ) => {
        const { variablesSaveSet } = await import("../commands/variable-sets.ts");
        await run(command, async (context) => variablesSaveSet(name, options, context));
      },
    );

  ofAccount(
    withServerOptions(define("delete-set <name>", "delete a variable set", variables)),
  ).action(async (name: string, options: SetOptions, command: Command) => {
    const { variablesDeleteSet } = await import("../commands/variable-sets.ts");
    await run(command, async (context) => variablesDeleteSet(name, options, context));
  });
}

function withSet(command: Command): Command {
  return ofAccount(command.option("--set <name>", "of this variable set instead of the stack"));
}

function ofAccount(command: Command): Command {
  return command.option(
    "--of-account",
    "a set of the account instead of one of the project",
    false,
  );
}

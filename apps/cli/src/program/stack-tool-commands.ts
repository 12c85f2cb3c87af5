import { type Command, Option } from "commander";
import type { StacksToolOptions } from "../commands/stacks-tool.ts";
import type { ServerProjectOptions, ServerStackOptions } from "../runs/run-place.ts";
import type { CommandAction, Define } from "./program.ts";
import { withServerOptions } from "./server-run-commands.ts";

const TOOL_HELP = `
A server that offers an installed terraform or tofu (stackwright serve --tool) plans and applies a stack with it. Its state is handed
over with each change of the tool, while no run is in progress. With --shadow on the engine makes each plan, too, and the two are
compared; the tool alone changes something.

With commands the server executes no runs: terraform and tofu plan and apply the stack where they run, and keep its state on the server.
`;

/** Commands about what plans and applies a stack of a server. */
export function defineStackToolCommands(define: Define, run: CommandAction, stacks: Command): void {
  withServerOptions(
    define("tool", "show or set what plans and applies a stack of a server", stacks),
  )
    .option(
      "--set <tool>",
      "stackwright, commands, terraform, tofu, or one with a version: tofu@1.10.0",
    )
    .addOption(
      new Option("--shadow <on>", "whether the engine makes each plan, too").choices(["on", "off"]),
    )
    .option("--adopt-after <n>", "equal plans in a row after which the stack can be adopted")
    .addHelpText("after", TOOL_HELP)
    .action(async (options: StacksToolOptions, command: Command) => {
      const { stacksTool } = await import("../commands/stacks-tool.ts");
      await run(command, async (context) => stacksTool(options, context));
    });

  withServerOptions(
    define("adopt", "let the engine plan and apply a stack once its plans were equal", stacks),
  )
    .option("--force", "although its plans were not equal often enough", false)
    .action(async (options: ServerStackOptions & { force: boolean }, command: Command) => {
      const { stacksAdopt } = await import("../commands/stacks-tool.ts");
      await run(command, async (context) => stacksAdopt(options, context));
    });

  // It is named, and not taken from the folder or the environment.
  define("delete <stack>", "delete a stack of a server (STACK or PROJECT/STACK)", stacks)
    .option("--server <url>", "address of the server (STACKWRIGHT_SERVER, the last login)")
    .option("--project <name>", "project of the stack (STACKWRIGHT_PROJECT)")
    .option("--json", "JSON instead of text", false)
    .option("--force", "also with objects, which stay in place, unmanaged from then on", false)
    .action(
      async (
        stack: string,
        options: ServerProjectOptions & { force: boolean },
        command: Command,
      ) => {
        const { stacksDelete } = await import("../commands/stacks-delete.ts");
        await run(command, async (context) => stacksDelete({ ...options, stack }, context));
      },
    );
}

import type { Command } from "commander";
import type { StacksPlanOptions } from "../commands/stacks-plan.ts";
import type { StacksUpOptions } from "../commands/stacks-up.ts";
import type { CommandAction, Define } from "./program.ts";
import { withStoreOptions } from "./run-commands.ts";

const SET_HELP = `
Each folder is a root module; its stack has the name STACK, or that of the folder in the repository: env/prod is the stack env-prod. Without folders
all root modules below this one are meant. All stacks are in one store and project. A stack that reads the outputs of another one (terraform_remote_state
with the backend stackwright) is planned with those that the other one is planned to have, and applied after it. With --server the folders are uploaded, and
the runs of the server are approved together.
`;

interface OfServer {
  readonly server?: string;
}

/** Commands that plan and apply several stacks together. */
export function defineStackSetCommands(define: Define, run: CommandAction, stacks: Command): void {
  withSetOptions(define("plan", "plan several stacks together", stacks))
    .option("--detailed-exitcode", "exit code 2 where there are changes", false)
    .option("--json", "write a JSON document", false)
    .action(
      async (words: readonly string[], options: StacksPlanOptions & OfServer, command: Command) => {
        const { server } = options;
        if (server !== undefined) {
          const { planOnServer } = await import("../stack-set/server-set.ts");
          await run(command, async (context) =>
            planOnServer(words, { ...options, server }, context),
          );
          return;
        }
        const { stacksPlan } = await import("../commands/stacks-plan.ts");
        await run(command, async (context) => stacksPlan(words, options, context));
      },
    );

  withSetOptions(define("up", "plan several stacks together, ask once, and apply", stacks))
    .option("-y, --yes", "do not ask", false)
    .action(
      async (
        words: readonly string[],
        options: Omit<StacksUpOptions, "json"> & OfServer,
        command: Command,
      ) => {
        const { server } = options;
        if (server !== undefined) {
          const { upOnServer } = await import("../stack-set/server-set.ts");
          const given = { ...options, server, json: false };
          await run(command, async (context) => upOnServer(words, given, context));
          return;
        }
        const { stacksUp } = await import("../commands/stacks-up.ts");
        await run(command, async (context) =>
          stacksUp(words, { ...options, json: false }, context),
        );
      },
    );
}

function withSetOptions(command: Command): Command {
  return withStoreOptions(command.argument("[folders...]", "FOLDER or STACK=FOLDER"), "0s", false)
    .option("--server <url>", "let this server plan and apply, in runs of its own")
    .option("--no-refresh", "take the recorded state as it is")
    .option("--refresh-age <duration>", "skip objects refreshed within this time")
    .option("--parallelism <n>", "how many things are done at the same time", "10")
    .option("--no-input", "ask for no values of variables")
    .option("--compact-warnings", "show only the summaries of warnings", false)
    .addHelpText("after", SET_HELP);
}

import type { Command } from "commander";
import type { StacksPlanOptions } from "../commands/stacks-plan.ts";
import type { StacksUpOptions } from "../commands/stacks-up.ts";
import type { ServerProjectOptions } from "../runs/run-place.ts";
import type { CommandAction, Define } from "./program.ts";
import { withStoreOptions } from "./run-commands.ts";
import { withServer } from "./with-server.ts";

const SET_HELP = `
Each folder is a root module; its stack has the name STACK, or that of the folder in the repository: env/prod is the stack env-prod. Without folders
all root modules below this one are meant. All stacks are in one store and project. A stack that reads the outputs of another one (terraform_remote_state
with the backend stackwright) is planned with those that the other one is planned to have, and applied after it. With --server the folders are uploaded, and
the runs of the server are approved together.
`;

interface OfServer {
  readonly server?: string;
}

const DESTROY_HELP = `
Each folder is a root module, and names a stack of the server as for "stacks up". A stack is destroyed before those whose outputs its state was made with.
The plans are shown and approved together. Without a server, destroy the stacks one by one, those that read others first: stackwright destroy
`;

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

  define("destroy", "destroy everything that several stacks of a server have", stacks)
    .argument("[folders...]", "FOLDER or STACK=FOLDER")
    .option("--server <url>", "address of the server (STACKWRIGHT_SERVER, the last login)")
    .option("--project <name>", "project of the stacks (default)")
    .option("-y, --yes", "do not ask", false)
    .addHelpText("after", DESTROY_HELP)
    .action(async (words: readonly string[], options: SetDestroyOptions, command: Command) => {
      const { destroyOnServer } = await import("../stack-set/server-set.ts");
      const given = { ...options, json: false };
      await run(command, async (context) => destroyOnServer(words, given, context));
    });
}

type SetDestroyOptions = Omit<ServerProjectOptions, "json"> & { yes: boolean };

type SetEndOptions = ServerProjectOptions & { reason?: string };
type SetApproveOptions = ServerProjectOptions & { yes: boolean; comment?: string };

/** Commands about the plan sets of a server: what several users decide. */
export function definePlanSetCommands(define: Define, run: CommandAction): void {
  const sets = define("plan-sets", "show and decide plans of several stacks on a server");
  withProject(define("list", "list the latest plan sets of the project", sets)).action(
    async (options: ServerProjectOptions, command: Command) => {
      const { planSetsList } = await import("../stack-set/set-decisions.ts");
      await run(command, async (context) => planSetsList(options, context));
    },
  );
  withProject(define("show <id>", "show a plan set with its plans", sets)).action(
    async (id: string, options: ServerProjectOptions, command: Command) => {
      const { planSetsShow } = await import("../stack-set/set-decisions.ts");
      await run(command, async (context) => planSetsShow(id, options, context));
    },
  );
  withProject(define("approve <id>", "show the plans, ask, and apply them in their order", sets))
    .option("-y, --yes", "do not ask", false)
    .option("--comment <text>", "what the others read beside the approval")
    .action(async (id: string, options: SetApproveOptions, command: Command) => {
      const { planSetsApprove } = await import("../stack-set/set-decisions.ts");
      await run(command, async (context) => planSetsApprove(id, options, context));
    });
  withProject(define("discard <id>", "give the plans of a set up", sets))
    .option("--reason <text>", "why")
    .action(async (id: string, options: SetEndOptions, command: Command) => {
      const { planSetsEnd } = await import("../stack-set/set-decisions.ts");
      await run(command, async (context) => planSetsEnd(id, "discard", options, context));
    });
  withProject(define("cancel <id>", "end a set; what is applied stays", sets)).action(
    async (id: string, options: ServerProjectOptions, command: Command) => {
      const { planSetsEnd } = await import("../stack-set/set-decisions.ts");
      await run(command, async (context) => planSetsEnd(id, "cancel", options, context));
    },
  );
}

function withProject(command: Command): Command {
  return withServer(command).option("--project <name>", "project of the set (default)");
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

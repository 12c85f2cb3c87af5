import type { Command } from "commander";
import type { AccountOptions } from "../commands/account-call.ts";
import type { ProjectOptions } from "../commands/projects.ts";
import type { CommandAction, Define } from "./program.ts";
import { collect } from "./run-commands.ts";
import { withServer } from "./with-server.ts";

/** Commands about the projects of a server and their rules of approval. */
export function defineServerProjectCommands(define: Define, run: CommandAction): void {
  const projects = define("projects", "list projects of a server, and set who approves in them");
  withServer(define("list", "list the projects", projects)).action(
    async (options: AccountOptions, command: Command) => {
      const { projectsList } = await import("../commands/projects.ts");
      await run(command, async (context) => projectsList(options, context));
    },
  );
  withServer(define("show <name>", "show the settings of a project", projects)).action(
    async (name: string, options: AccountOptions, command: Command) => {
      const { projectsShow } = await import("../commands/projects.ts");
      await run(command, async (context) => projectsShow(name, options, context));
    },
  );
  withSettings(withServer(define("create <name>", "create a project", projects))).action(
    async (name: string, options: ProjectOptions, command: Command) => {
      const { projectsCreate } = await import("../commands/projects.ts");
      await run(command, async (context) => projectsCreate(name, options, context));
    },
  );
  withSettings(withServer(define("set <name>", "change settings of a project", projects))).action(
    async (name: string, options: ProjectOptions, command: Command) => {
      const { projectsSet } = await import("../commands/projects.ts");
      await run(command, async (context) => projectsSet(name, options, context));
    },
  );
  withServer(
    define(
      "delete <name>",
      "delete a project without stacks, with all that belongs to it",
      projects,
    ),
  ).action(async (name: string, options: AccountOptions, command: Command) => {
    const { projectsDelete } = await import("../commands/projects.ts");
    await run(command, async (context) => projectsDelete(name, options, context));
  });
}

function withSettings(command: Command): Command {
  return command
    .option("--display-name <text>", "name to show")
    .option("--required-approvals <n>", "so many have to approve a plan")
    .option("--exclude-author", "who requested a run cannot approve its plan")
    .option("--no-exclude-author", "who requested a run can approve its plan")
    .option("--approval-wait <duration>", "so long a plan waits for its approval, such as 72h")
    .option("--approval-valid <duration>", "so long an approval counts, such as 24h")
    .option("--approver <id>", "this credential may approve; may be repeated", collect, [])
    .option("--any-approver", "all operators may approve", false)
    .option("--auto-apply <when>", "on_request, never or always: without an approval")
    .option("--supersede <which>", "none, pending or unapproved: older runs that a new one ends")
    .option("--share-outputs-with <project>", "may read outputs; may be repeated", collect, [])
    .option("--share-no-outputs", "no other project may read outputs", false)
    .option(
      "--pure-provider <source>",
      "plans ask this provider for none of what has not changed; may be repeated",
      collect,
      [],
    )
    .option("--ask-all-providers", "no provider counts as pure", false)
    .option(
      "--provider-reaction <what>",
      "none, notify or plan: what follows for stacks without a reaction of their own where a version of a provider changes",
    )
    .option("--key-instructions <text>", "how members get the keys of its stacks: no key")
    .option(
      "--keys <who>",
      "client, server or either: who has the keys of its stacks; with client the server has no runs",
    );
}

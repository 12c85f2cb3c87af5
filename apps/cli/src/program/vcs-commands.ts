import type { Command } from "commander";
import type { VcsConnectOptions } from "../commands/vcs.ts";
import type { ServerProjectOptions } from "../runs/run-place.ts";
import type { CommandAction, Define } from "./program.ts";
import { collect } from "./run-commands.ts";

/** Commands about the Git repositories of a project on a server. */
export function defineVcsCommands(define: Define, run: CommandAction): void {
  const vcs = define("vcs", "connect Git repositories, whose pull requests a server plans");

  withProject(define("list", "list the connected repositories of a project", vcs)).action(
    async (options: ServerProjectOptions, command: Command) => {
      const { vcsList } = await import("../commands/vcs.ts");
      await run(command, async (context) => vcsList(options, context));
    },
  );

  withProject(define("connect <name>", "connect a repository, or change a connection", vcs))
    .option("--kind <kind>", "generic, gitea (also Forgejo) or github")
    .option("--repository-url <url>", "where git fetches from")
    .option("--api-url <url>", "the API of the Git server, such as https://git.example.com/api/v1")
    .option("--repository <name>", "OWNER/NAME at the Git server")
    .option("--branch <name>", "the branch that is applied; main by default")
    .option("--token-file <file>", "token for the API and git")
    .option("--report-url <url>", "where comments and statuses are sent, for the kind generic")
    .option("--apply <when>", "manual (default), on_merge or on_comment")
    .option("--attach <stack=folder>", "a stack and its folder; may be repeated", collect, [])
    .option("--applier <user>", "whose comments or merges may apply; may be repeated", collect, [])
    .option(
      "--reviews <n>",
      "approving reviews that a comment or the merge needs to apply; 1 by default",
    )
    .action(async (name: string, options: VcsConnectOptions, command: Command) => {
      const { vcsConnect } = await import("../commands/vcs.ts");
      await run(command, async (context) => vcsConnect(name, options, context));
    });

  withProject(define("disconnect <name>", "delete a connection; its runs stay", vcs)).action(
    async (name: string, options: ServerProjectOptions, command: Command) => {
      const { vcsDisconnect } = await import("../commands/vcs.ts");
      await run(command, async (context) => vcsDisconnect(name, options, context));
    },
  );

  withProject(define("sync <name>", "compare the branch without a delivery", vcs)).action(
    async (name: string, options: ServerProjectOptions, command: Command) => {
      const { vcsSync } = await import("../commands/vcs.ts");
      await run(command, async (context) => vcsSync(name, options, context));
    },
  );

  withProject(define("tasks <name>", "list what is left to do, and what it fails for", vcs)).action(
    async (name: string, options: ServerProjectOptions, command: Command) => {
      const { vcsTasks } = await import("../commands/vcs.ts");
      await run(command, async (context) => vcsTasks(name, options, context));
    },
  );

  withProject(
    define("pull-requests <name> [id]", "list pull requests, or show the plans of one", vcs),
  ).action(
    async (
      name: string,
      id: string | undefined,
      options: ServerProjectOptions,
      command: Command,
    ) => {
      const { vcsPullRequests } = await import("../commands/vcs.ts");
      await run(command, async (context) => vcsPullRequests(name, id, options, context));
    },
  );
}

function withProject(command: Command): Command {
  return command
    .option("--server <url>", "address of the server; without it that of the last login")
    .option("--project <name>", "the project; STACKWRIGHT_PROJECT, or default")
    .option("--json", "write JSON", false);
}

import type { Command } from "commander";
import type { StoreOptions } from "../session/session.ts";
import type { CommandAction, Define } from "./program.ts";
import { withStoreOptions } from "./run-commands.ts";

/** Commands about workspaces, which are the stacks of a project. */
export function defineWorkspaceCommands(define: Define, run: CommandAction): void {
  const workspace = define("workspace", "list, create, select and delete stacks by workspace name");
  workspace.alias("env");

  withStoreOptions(define("list", "list the workspaces", workspace)).action(
    async (options: StoreOptions, command: Command) => {
      const { workspaceList } = await import("../commands/workspace.ts");
      await run(command, async (context) => workspaceList(options, context));
    },
  );

  withStoreOptions(define("show", "show the name of the selected workspace", workspace)).action(
    async (options: StoreOptions, command: Command) => {
      const { workspaceShow } = await import("../commands/workspace.ts");
      await run(command, (context) => workspaceShow(options, context));
    },
  );

  withStoreOptions(define("new <name>", "create a workspace and select it", workspace)).action(
    async (name: string, options: StoreOptions, command: Command) => {
      const { workspaceNew } = await import("../commands/workspace.ts");
      await run(command, async (context) => workspaceNew(name, options, context));
    },
  );

  withStoreOptions(define("select <name>", "select a workspace", workspace))
    .option("--or-create", "create the workspace if it does not exist", false)
    .action(
      async (name: string, options: StoreOptions & { orCreate: boolean }, command: Command) => {
        const { workspaceSelect } = await import("../commands/workspace.ts");
        await run(command, async (context) => workspaceSelect(name, options, context));
      },
    );

  withStoreOptions(define("delete <name>", "delete a workspace", workspace))
    .option("--force", "remove its objects from the state; they keep existing", false)
    .action(async (name: string, options: StoreOptions & { force: boolean }, command: Command) => {
      const { workspaceDelete } = await import("../commands/workspace.ts");
      await run(command, async (context) => workspaceDelete(name, options, context));
    });
}

import type { Command } from "commander";
import type { ServerStackOptions } from "../runs/run-place.ts";
import type { CommandAction, Define } from "./program.ts";
import { withServerOptions } from "./server-run-commands.ts";

/** Commands about the states that terraform and tofu commands store on a server. */
export function defineStateVersionCommands(define: Define, run: CommandAction): void {
  const versions = define(
    "state-versions",
    "list and restore the states that terraform and tofu store on a server",
  );

  withServerOptions(
    define("list", "list the versions of a stack that are kept, the newest first", versions),
  ).action(async (options: ServerStackOptions, command: Command) => {
    const { stateVersionsList } = await import("../commands/state-versions.ts");
    await run(command, async (context) => stateVersionsList(options, context));
  });

  withServerOptions(
    define(
      "download [version]",
      "write a version as it was stored, with secrets in the clear; without a version the present one",
      versions,
    ),
  )
    .option("--output <file>", "a new file instead of the standard output")
    .action(
      async (
        version: string | undefined,
        options: ServerStackOptions & { readonly output?: string },
        command: Command,
      ) => {
        const { stateVersionsDownload } = await import("../commands/state-versions.ts");
        await run(command, async (context) => stateVersionsDownload(version, options, context));
      },
    );

  withServerOptions(
    define(
      "restore <version>",
      "make an older version the present one, with the next serial",
      versions,
    ),
  ).action(async (version: string, options: ServerStackOptions, command: Command) => {
    const { stateVersionsRestore } = await import("../commands/state-versions.ts");
    await run(command, async (context) => stateVersionsRestore(version, options, context));
  });
}

import type { Command } from "commander";
import type { ReplaceProviderOptions } from "../commands/replace-provider.ts";
import type { StatePushOptions } from "../commands/state-push.ts";
import type { TaintOptions } from "../commands/taint.ts";
import type { StoreOptions } from "../session/session.ts";
import { commandAt } from "./apply-reference-options.ts";
import type { CommandAction, Define } from "./program.ts";
import { withStoreOptions } from "./run-commands.ts";

/**
 * Commands under the names that Terraform users know, for which this command has forms of its own: `unlock`, `state taint`,
 * `export-state`. They ask no questions where the reference command asks none.
 */
export function defineFamiliarCommands(program: Command, define: Define, run: CommandAction): void {
  for (const kind of ["taint", "untaint"] as const) {
    const what = kind === "taint" ? "mark an object for replacement" : "remove the mark of taint";
    withStoreOptions(define(`${kind} <address>`, what))
      .option("--allow-missing", "a missing object is a warning", false)
      .action(async (address: string, options: TaintOptions, command: Command) => {
        const { taint } = await import("../commands/taint.ts");
        await run(command, async (context) => taint(kind, address, options, context));
      });
  }

  withStoreOptions(define("force-unlock <run>", "release the lock of a run that has died")).action(
    async (id: string, options: StoreOptions, command: Command) => {
      const { forceUnlock } = await import("../commands/force-unlock.ts");
      await run(command, async (context) => forceUnlock(id, options, context));
    },
  );

  const metadata = define("metadata", "show metadata of the language");
  define("functions", "write the signatures of all functions as JSON", metadata)
    .option("--json", "as JSON, which is required", false)
    .action(async (options: { json: boolean }, command: Command) => {
      const { metadataFunctions } = await import("../commands/metadata-functions.ts");
      await run(command, (context) => metadataFunctions(options, context));
    });

  const state = commandAt(program, "state");
  if (state !== undefined) defineStateTransfer(define, run, state);
}

function defineStateTransfer(define: Define, run: CommandAction, state: Command): void {
  withStoreOptions(
    define("pull", "write the state as a Terraform state, secrets in the clear", state),
  ).action(async (options: StoreOptions, command: Command) => {
    const { statePull } = await import("../commands/export-state.ts");
    await run(command, async (context) => statePull(options, context));
  });

  withStoreOptions(define("push <file>", "replace the state with a Terraform state file", state))
    .option("--force", "accept another lineage or a lower serial", false)
    .action(async (file: string, options: StatePushOptions, command: Command) => {
      const { statePush } = await import("../commands/state-push.ts");
      await run(command, async (context) => statePush(file, options, context));
    });

  withStoreOptions(
    define("replace-provider <from> <to>", "record another provider for objects", state),
  )
    .option("-y, --yes", "do not ask", false)
    .option("--auto-approve", "do not ask", false)
    .action(async (from: string, to: string, options: ReplaceProviderOptions, command: Command) => {
      const { replaceProvider } = await import("../commands/replace-provider.ts");
      await run(command, async (context) => replaceProvider(from, to, options, context));
    });
}

import type { StateEdit } from "@stackwright/core";
import { type Command, Option } from "commander";
import type { ImportStateOptions } from "../commands/import-state.ts";
import type { OutputOptions } from "../commands/output.ts";
import type { RecoverOptions } from "../commands/recover.ts";
import type { SecretOptions, ShowOptions } from "../commands/show.ts";
import type { StateEditOptions } from "../commands/state-edit.ts";
import { VIEW_FORMS } from "../render/view-forms.ts";
import type { StoreOptions } from "../session/session.ts";
import { defineAdoption, defineHandBack } from "./adoption-commands.ts";
import type { CommandAction, Define } from "./program.ts";
import { collect, withInputs, withRunOptions, withStoreOptions } from "./run-commands.ts";
import { defineStackSetCommands } from "./stack-set-commands.ts";
import { defineStackToolCommands } from "./stack-tool-commands.ts";

/** Commands that show, import or export the state. */
export function defineStateCommands(define: Define, run: CommandAction): void {
  withStoreOptions(define("show [plan]", "show the recorded state, or a plan that was kept"))
    .option("--json", "as JSON, in the form of Terraform's", false)
    .addOption(
      new Option("--view <form>", "a plan by risk, with causes, alike changes folded").choices([
        ...VIEW_FORMS,
      ]),
    )
    .option("--html", "a plan as one HTML page; the same as --view page", false)
    .option("--show-secrets", "show sensitive values in the clear", false)
    .action(async (plan: string | undefined, options: ShowOptions, command: Command) => {
      const { show } = await import("../commands/show.ts");
      await run(command, async (context) => show(plan, options, context));
    });

  withStoreOptions(define("output [name]", "show outputs"))
    .option("--json", "as JSON, secret ones as well", false)
    .option("--raw", "one string, number or bool as it is", false)
    .option("--state <file>", "read a Terraform state file instead of the stack")
    .action(async (name: string | undefined, options: OutputOptions, command: Command) => {
      const { output } = await import("../commands/output.ts");
      await run(command, async (context) => output(name, options, context));
    });

  const listing = withStoreOptions(define("stacks", "list the stacks of the project"))
    .option("--json", "as JSON", false)
    .action(async (options: StoreOptions & { json: boolean }, command: Command) => {
      const { stacks } = await import("../commands/stacks.ts");
      await run(command, async (context) => stacks(options, context));
    });
  defineStackToolCommands(define, run, listing);
  defineStackSetCommands(define, run, listing);

  withStoreOptions(define("unlock", "free a stack whose run is gone"), "2m").action(
    async (options: StoreOptions, command: Command) => {
      const { unlock } = await import("../commands/unlock.ts");
      await run(command, async (context) => unlock(options, context));
    },
  );

  const recovering = withStoreOptions(
    define("recover", "resolve objects of which the outcome of a call is not known"),
  );
  const recoverInputs = withInputs(recovering);
  recovering
    .option("--read", "read objects that are known", false)
    .option("--identity", "look for created objects under their identity", false)
    .option("--id <address=id>", "the id of an object that exists; may be given again", collect, [])
    .option("--ids <file>", "a file with one ADDRESS=ID a line")
    .option("--absent <address>", "no such object exists; all: none of the rest", collect, [])
    .option("-y, --yes", "--read and --identity, without questions", false)
    .option("--json", "the result as JSON", false)
    .action(async (options: Omit<RecoverOptions, "inputs">, command: Command) => {
      const { recover } = await import("../commands/recover.ts");
      const given = { ...options, inputs: recoverInputs() };
      await run(command, async (context) => recover(given, context));
    });

  const state = define("state", "inspect objects in the state");
  withStoreOptions(define("list [addresses...]", "list their addresses", state))
    .alias("ls")
    .option("--id <id>", "only objects whose attribute id has this value")
    .action(
      async (addresses: string[], options: StoreOptions & { id?: string }, command: Command) => {
        const { stateList } = await import("../commands/state-list.ts");
        await run(command, async (context) => stateList(addresses, options, context));
      },
    );
  withStoreOptions(define("show <address>", "show one of them", state))
    .option("--show-secrets", "show sensitive values in the clear", false)
    .action(async (address: string, options: StoreOptions & SecretOptions, command: Command) => {
      const { stateShow } = await import("../commands/state-list.ts");
      await run(command, async (context) => stateShow(address, options, context));
    });

  defineStateEdit(define, run, state);

  withStoreOptions(
    define(
      "export-state",
      "write the state as a Terraform state of version 4, secrets in the clear",
    ),
  ).action(async (options: StoreOptions, command: Command) => {
    const { exportStateCommand } = await import("../commands/export-state.ts");
    await run(command, async (context) => exportStateCommand(options, context));
  });

  defineAdoption(define, run);
  defineHandBack(define, run);

  const importing = withRunOptions(
    define("import-state <file>", "take a Terraform state of version 4 over, and show a plan"),
  );
  const inputs = withInputs(importing);
  importing
    .option("--no-plan", "show no plan afterwards")
    .action(async (file: string, parsed: ImportStateOptions, command: Command) => {
      const { importStateCommand } = await import("../commands/import-state.ts");
      const options = { ...parsed, inputs: inputs(), destroy: false };
      await run(command, async (context) => importStateCommand(file, options, context));
    });
}

/** Changes of what is recorded, without calls to providers. */
function defineStateEdit(define: Define, run: CommandAction, state: Command): void {
  const edit = (
    name: string,
    description: string,
    of: (addresses: readonly string[]) => readonly StateEdit[],
    aliases: readonly string[] = [],
  ): void => {
    withStoreOptions(define(name, description, state))
      .aliases(aliases)
      .option("-y, --yes", "do not ask", false)
      .option("--dry-run", "show what would change, and change nothing", false)
      .action(async (...given: readonly unknown[]) => {
        const command = given.at(-1) as Command;
        const options = given.at(-2) as StateEditOptions;
        const addresses = given.slice(0, -2).flat() as string[];
        const { stateEditCommand } = await import("../commands/state-edit.ts");
        await run(command, async (context) => stateEditCommand(of(addresses), options, context));
      });
  };
  edit(
    "mv <from> <to>",
    "record an object under another address",
    ([from = "", to = ""]) => [{ kind: "move", from, to }],
    ["move"],
  );
  edit(
    "rm <addresses...>",
    "forget objects; what they really are stays as it is",
    (addresses) => addresses.map((address) => ({ kind: "forget", address })),
    ["remove"],
  );
  edit("taint <addresses...>", "let the next plan replace objects", (addresses) =>
    addresses.map((address) => ({ kind: "taint", address })),
  );
  edit("untaint <addresses...>", "take that back", (addresses) =>
    addresses.map((address) => ({ kind: "untaint", address })),
  );
  edit(
    "resolve-absent <address>",
    "say that an unresolved create made nothing",
    ([address = ""]) => [{ kind: "resolve", address, exists: false }],
  );
}

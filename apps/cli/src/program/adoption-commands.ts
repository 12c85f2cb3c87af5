import type { Command } from "commander";
import { referenceName } from "../called-as.ts";
import type { AdoptOptions } from "../commands/adopt.ts";
import type { HandBackOptions } from "../commands/hand-back.ts";
import type { CommandAction, Define } from "./program.ts";
import { collect, withInputs, withRunOptions, withStoreOptions } from "./run-commands.ts";

/** The command that adopts states of other commands. */
export function defineAdoption(define: Define, run: CommandAction): void {
  const adopting = withRunOptions(
    define("adopt [state]", "adopt the Terraform state of the configuration, after an empty plan"),
  );
  const inputs = withInputs(adopting);
  withBackendOptions(adopting)
    .option("--workspace <name>", "only this workspace; may be given again", collect, [])
    .option("--all-workspaces", "every workspace, as without --workspace", false)
    .option("--all", "every root module below the directory STATE, or this one", false)
    .option("--dry-run", "show what would be adopted, and change nothing", false)
    .option("-y, --yes", "do not ask", false)
    .option("--accept-changes", "adopt although the plan is not empty", false)
    .option("--verify [command]", "compare the plan with that of terraform, or of another command")
    .option("--old <treatment>", "the old state: fence (keep a lock or a marker) or none", "fence")
    .option("--mirror", "write every revision to the old backend as well", false)
    .option("--report <file>", "with --all: write the report as JSON to a file")
    .option("--name-template <text>", "with --all: stack names, such as {dir}-{workspace}")
    .option("--detect", "only show what was detected, without the network", false)
    .option("--fresh", "record that there is nothing to adopt", false)
    .option("--force", "with --fresh: although a state with objects was found", false)
    .option("--confirm <stack>", "with --force: the name of the stack, instead of a question")
    .action(async (file: string | undefined, parsed: ParsedAdopt, command: Command) => {
      const { adopt } = await import("../commands/adopt.ts");
      const { verify, ...others } = parsed;
      const options = { ...others, inputs: inputs(), destroy: false };
      await run(command, async (context) => {
        const named = verify === true ? referenceName(context) : verify;
        return adopt(file, { ...options, ...(named !== undefined && { verify: named }) }, context);
      });
    });
}

interface ParsedAdopt extends Omit<AdoptOptions, "inputs" | "destroy" | "verify"> {
  readonly verify?: string | true;
}

/** The command that gives a state back to the backend that it was adopted from. */
export function defineHandBack(define: Define, run: CommandAction): void {
  withBackendOptions(
    withStoreOptions(define("hand-back", "write the state to its old backend, and end the stack")),
  )
    .option("-y, --yes", "do not ask", false)
    .action(async (options: HandBackOptions, command: Command) => {
      const { handBack } = await import("../commands/hand-back.ts");
      await run(command, async (context) => handBack(options, context));
    });
}

/** Options that say which backend another command uses. */
function withBackendOptions(command: Command): Command {
  return command
    .option(
      "--backend-config <file or name=value>",
      "an argument of the backend, as for terraform init; may be given again",
      collect,
      [],
    )
    .option("--pull [command]", 'read the backend with "terraform state pull", or another command');
}

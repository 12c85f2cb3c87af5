import { type AccountVariableSet, isClientError, type VariableSet } from "@stackwright/client";
import type { CommandContext } from "../command-context.ts";
import { CommandError } from "../command-error.ts";
import { EXIT, type ExitCode } from "../exit-code.ts";
import { openServer, withServerErrors } from "../runs/open-server.ts";
import { openServerStack, type ServerStackOptions } from "../runs/run-place.ts";
import { printable } from "../terminal/printable.ts";
import { changeSeen } from "./change-seen.ts";

/** The pattern of a set that is for no stack. */
const NO_STACK = "/";

/** Options of commands about sets: of the project, or of the account. */
export interface SetOptions extends ServerStackOptions {
  readonly ofAccount: boolean;
}

interface SaveSetOptions extends SetOptions {
  readonly forProject: readonly string[];
  readonly for: readonly string[];
  readonly forAll: boolean;
  /** Undefined: as it is. */
  readonly priority?: boolean;
  readonly description?: string;
}

/** Lists the variable sets of a project, or of the account. */
export async function variablesSets(
  options: SetOptions,
  context: CommandContext,
): Promise<ExitCode> {
  const { signal } = context;
  const { client, place } = await openSets(options, context);
  return withServerErrors(client.server, async () => {
    const { sets } =
      place === undefined
        ? (await client.listAccountVariableSets({}, { signal })).data
        : (await client.listVariableSets(place, { signal })).data;
    if (options.json) context.terminal.write(`${JSON.stringify(sets, undefined, 2)}\n`);
    else for (const set of sets) context.terminal.write(`${lineOf(set)}\n`);
    return EXIT.ok;
  });
}

/** Creates a variable set, or changes what the options name of one. */
export async function variablesSaveSet(
  name: string,
  options: SaveSetOptions,
  context: CommandContext,
): Promise<ExitCode> {
  const { priority, description, forAll, forProject, for: patterns } = options;
  if (forAll && patterns.length + forProject.length > 0) {
    throw new CommandError(
      "A set is for all stacks, or for those of --for and --for-project: --for-all excludes these.",
    );
  }
  if (forProject.length > 0 && !options.ofAccount) {
    throw new CommandError("Only a set of the account is for several projects.", {
      advice: "Add --of-account, or leave out --for-project.",
    });
  }
  if (forProject.length > 0 && patterns.includes(NO_STACK)) {
    throw new CommandError("A set for no stack is for no project.", {
      advice: `Leave out --for-project, or --for ${NO_STACK}.`,
    });
  }
  const { client, place } = await openSets(options, context);
  const { signal } = context;
  const settings = {
    ...((forAll || patterns.length > 0) && { stacks: [...patterns] }),
    ...(priority !== undefined && { priority }),
    ...(description !== undefined && { description }),
  };
  const accountSettings = {
    ...settings,
    ...((forAll || forProject.length > 0) && { projects: [...forProject] }),
  };
  return withServerErrors(client.server, async () => {
    const create = async () =>
      place === undefined
        ? (
            await client.createAccountVariableSet(
              { body: { name, ...accountSettings } },
              { signal },
            )
          ).data
        : (await client.createVariableSet({ ...place, body: { name, ...settings } }, { signal }))
            .data;
    const changeOfAccount = async () => {
      let body = accountSettings;
      const read = async () => {
        if (forProject.length === 0 || patterns.length > 0) return {};
        const { data, etag } = await client.showAccountVariableSet({ set: name }, { signal });
        // One for no stack would stay one, with projects that say otherwise.
        body = isForNone(data) ? { ...accountSettings, stacks: [] } : accountSettings;
        return { etag };
      };
      return changeSeen(read, async (ifMatch) =>
        client.changeAccountVariableSet({ set: name, ifMatch, body }, { signal }),
      );
    };
    const change = async () => {
      if (place === undefined) return changeOfAccount();
      const at = { ...place, set: name, ifMatch: "*" };
      return (await client.changeVariableSet({ ...at, body: settings }, { signal })).data;
    };
    const saved = await change().catch(async (error: unknown) => {
      if (!isClientError(error, "not_found")) throw error;
      return create();
    });
    const json = `${JSON.stringify(saved, undefined, 2)}\n`;
    context.terminal.write(options.json ? json : `Saved ${lineOf(saved)}\n`);
    return EXIT.ok;
  });
}

/** Deletes a variable set with its variables. */
export async function variablesDeleteSet(
  name: string,
  options: SetOptions,
  context: CommandContext,
): Promise<ExitCode> {
  const { client, place } = await openSets(options, context);
  const { signal } = context;
  return withServerErrors(client.server, async () => {
    const at = { set: name, ifMatch: "*" };
    if (place === undefined) await client.deleteAccountVariableSet(at, { signal });
    else await client.deleteVariableSet({ ...place, ...at }, { signal });
    context.terminal.write(options.json ? "{}\n" : `Deleted the variable set ${name}.\n`);
    return EXIT.ok;
  });
}

/** The server, and the project whose sets are meant: none for those of the account. */
async function openSets(options: SetOptions, context: CommandContext) {
  if (!options.ofAccount) return openServerStack(options, context);
  if (options.stack !== undefined || options.project !== undefined) {
    throw new CommandError("A set of the account is of no project.", {
      advice: "Leave out --project and --stack, or --of-account.",
    });
  }
  return { client: await openServer(context, options.server), place: undefined };
}

/** Whether a set is for no stack: an empty list would be for all. */
function isForNone({ stacks }: Pick<VariableSet, "stacks">): boolean {
  return stacks.length > 0 && stacks.every((pattern) => pattern === NO_STACK);
}

function lineOf(set: VariableSet | AccountVariableSet): string {
  const { name, stacks, priority, variables, description } = set;
  const projects = "projects" in set ? set.projects : [];
  const parts = [
    isForNone(set) ? "no stack" : stacks.length === 0 ? "all stacks" : stacks.join(" "),
    ...(projects.length === 0 ? [] : [`of the projects ${projects.join(" ")}`]),
    ...(priority ? ["priority"] : []),
    `${variables.length} ${variables.length === 1 ? "variable" : "variables"}`,
    ...(description === "" ? [] : [description]),
  ];
  return printable(`${name}: ${parts.join(", ")}`);
}

import { isClientError, type VariableSet } from "@stackwright/client";
import type { CommandContext } from "../command-context.ts";
import { CommandError } from "../command-error.ts";
import { EXIT, type ExitCode } from "../exit-code.ts";
import { withServerErrors } from "../runs/open-server.ts";
import { openServerStack, type ServerStackOptions } from "../runs/run-place.ts";
import { printable } from "../terminal/printable.ts";

interface SaveSetOptions extends ServerStackOptions {
  readonly for: readonly string[];
  readonly forAll: boolean;
  /** Undefined: as it is. */
  readonly priority?: boolean;
  readonly description?: string;
}

/** Lists the variable sets of a project. */
export async function variablesSets(
  options: ServerStackOptions,
  context: CommandContext,
): Promise<ExitCode> {
  const { client, place } = await openServerStack(options, context);
  return withServerErrors(client.server, async () => {
    const { sets } = (await client.listVariableSets(place, { signal: context.signal })).data;
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
  const { priority, description, forAll, for: patterns } = options;
  if (forAll && patterns.length > 0) {
    throw new CommandError(
      "A set is for all stacks, or for those of --for: --for-all excludes it.",
    );
  }
  const { client, place } = await openServerStack(options, context);
  const { signal } = context;
  const settings = {
    ...((forAll || patterns.length > 0) && { stacks: [...patterns] }),
    ...(priority !== undefined && { priority }),
    ...(description !== undefined && { description }),
  };
  return withServerErrors(client.server, async () => {
    const create = async () =>
      (await client.createVariableSet({ ...place, body: { name, ...settings } }, { signal })).data;
    const change = async () => {
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
  options: ServerStackOptions,
  context: CommandContext,
): Promise<ExitCode> {
  const { client, place } = await openServerStack(options, context);
  return withServerErrors(client.server, async () => {
    const at = { ...place, set: name, ifMatch: "*" };
    await client.deleteVariableSet(at, { signal: context.signal });
    context.terminal.write(options.json ? "{}\n" : `Deleted the variable set ${name}.\n`);
    return EXIT.ok;
  });
}

function lineOf({ name, stacks, priority, variables, description }: VariableSet): string {
  const parts = [
    stacks.length === 0 ? "all stacks" : stacks.join(" "),
    ...(priority ? ["priority"] : []),
    `${variables.length} ${variables.length === 1 ? "variable" : "variables"}`,
    ...(description === "" ? [] : [description]),
  ];
  return printable(`${name}: ${parts.join(", ")}`);
}

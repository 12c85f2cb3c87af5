import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import { type EffectiveVariable, isClientError, type Variable } from "@stackwright/client";
import type { CommandContext } from "../command-context.ts";
import { CommandError } from "../command-error.ts";
import { EXIT, type ExitCode } from "../exit-code.ts";
import { withServerErrors } from "../runs/open-server.ts";
import { openServerStack, type ServerStack, type ServerStackOptions } from "../runs/run-place.ts";
import { printable } from "../terminal/printable.ts";

/** Options of commands about variables: of a stack, or with `set` of a set of its project, or of the account. */
interface VariableOptions extends ServerStackOptions {
  readonly set?: string;
  readonly ofAccount: boolean;
}

interface OneVariableOptions extends VariableOptions {
  readonly env: boolean;
}

interface SetVariableOptions extends OneVariableOptions {
  readonly sensitive: boolean;
  readonly valueFile?: string;
  readonly description?: string;
}

/** Lists what runs of a stack have, with the sets that the values are from; with `set` the variables of that set. */
export async function variablesList(
  options: VariableOptions,
  context: CommandContext,
): Promise<ExitCode> {
  requireSet(options);
  const found = await openServerStack(options, context);
  const { client, place } = found;
  const { signal } = context;
  const { set, json } = options;
  return withServerErrors(client.server, async () => {
    const variables: readonly (Variable | EffectiveVariable)[] =
      set === undefined
        ? (await client.listEffectiveVariables(place, { signal })).data.variables
        : (await shownSet(found, options, set)).data.variables;
    if (json) context.terminal.write(`${JSON.stringify(variables, undefined, 2)}\n`);
    else for (const one of variables) context.terminal.write(`${lineOf(one)}\n`);
    return EXIT.ok;
  });
}

/** Sets a variable of a stack, or of a set. A value of a file is taken as it is. */
export async function variablesSet(
  key: string,
  value: string | undefined,
  options: SetVariableOptions,
  context: CommandContext,
): Promise<ExitCode> {
  const body = {
    value: await valueOf(value, options, context),
    sensitive: options.sensitive,
    ...(options.description !== undefined && { description: options.description }),
  };
  requireSet(options);
  const found = await openServerStack(options, context);
  const { client, place } = found;
  const { signal } = context;
  return withServerErrors(client.server, async () => {
    const { set, ofAccount } = options;
    const at = { category: categoryOf(options), key } as const;
    const ifMatch = await etagOf(found, options, key);
    const change = { ...at, body, ...(ifMatch !== undefined && { ifMatch }) };
    const write = async () => {
      if (set === undefined) return client.setVariable({ ...place, ...change }, { signal });
      return ofAccount
        ? client.setAccountSetVariable({ ...change, set }, { signal })
        : client.setSetVariable({ ...place, ...change, set }, { signal });
    };
    const { data } = await write();
    const json = `${JSON.stringify(data, undefined, 2)}\n`;
    context.terminal.write(options.json ? json : `Set ${lineOf(data)}\n`);
    return EXIT.ok;
  });
}

/** Deletes a variable of a stack, or of a set. */
export async function variablesUnset(
  key: string,
  options: OneVariableOptions,
  context: CommandContext,
): Promise<ExitCode> {
  requireSet(options);
  const { client, place } = await openServerStack(options, context);
  const { signal } = context;
  return withServerErrors(client.server, async () => {
    const at = { category: categoryOf(options), key, ifMatch: "*" } as const;
    const { set, ofAccount } = options;
    if (set === undefined) await client.deleteVariable({ ...place, ...at }, { signal });
    else if (ofAccount) await client.deleteAccountSetVariable({ ...at, set }, { signal });
    else await client.deleteSetVariable({ ...place, ...at, set }, { signal });
    context.terminal.write(options.json ? "{}\n" : `Deleted ${key}.\n`);
    return EXIT.ok;
  });
}

/** A set of the account has no project, and no stack has variables of the account but by its sets. */
function requireSet({ ofAccount, set, stack, project }: VariableOptions): void {
  if (!ofAccount) return;
  if (set === undefined) {
    throw new CommandError("An account has variables in sets alone.", {
      advice: "Name one with --set, or leave out --of-account.",
    });
  }
  if (stack !== undefined || project !== undefined) {
    throw new CommandError("A set of the account is of no project.", {
      advice: "Leave out --project and --stack, or --of-account.",
    });
  }
}

/** The set that the options name. */
async function shownSet(
  { client, place, context: { signal } }: ServerStack,
  { ofAccount }: Pick<VariableOptions, "ofAccount">,
  set: string,
) {
  return ofAccount
    ? client.showAccountVariableSet({ set }, { signal })
    : client.showVariableSet({ ...place, set }, { signal });
}

/** What a change is made to; undefined where there is nothing to replace. */
async function etagOf(
  found: ServerStack,
  options: OneVariableOptions,
  key: string,
): Promise<string | undefined> {
  const { client, place, context } = found;
  const { signal } = context;
  const { set } = options;
  const category = categoryOf(options);
  if (set !== undefined) {
    const { data, etag } = await shownSet(found, options, set);
    const isThere = data.variables.some((one) => one.key === key && one.category === category);
    return isThere ? etag : undefined;
  }
  try {
    return (await client.showVariable({ ...place, category, key }, { signal })).etag;
  } catch (error) {
    if (!isClientError(error, "not_found")) throw error;
    return undefined;
  }
}

async function valueOf(
  value: string | undefined,
  { valueFile }: Pick<SetVariableOptions, "valueFile">,
  { directory }: CommandContext,
): Promise<string> {
  if ((value === undefined) === (valueFile === undefined)) {
    throw new CommandError("A variable needs one value: as a word, or with --value-file.", {
      advice: "Secrets belong into a file, as other processes see the words of a command.",
    });
  }
  if (value !== undefined) return value;
  try {
    return await readFile(resolve(directory, valueFile ?? ""), "utf8");
  } catch (error) {
    throw new CommandError(`The file "${valueFile}" cannot be read.`, { cause: error });
  }
}

function categoryOf({ env }: Pick<OneVariableOptions, "env">): "terraform" | "env" {
  return env ? "env" : "terraform";
}

function lineOf(one: Variable | EffectiveVariable): string {
  const text = one.sensitive ? "(sensitive)" : JSON.stringify(one.value ?? "");
  const from = "origin" in one ? `  # ${originsOf(one)}` : "";
  return printable(`${one.category === "env" ? "env " : ""}${one.key} = ${text}${from}`);
}

function originsOf({ hides, ...own }: EffectiveVariable): string {
  const [first = "", ...others] = [own, ...hides].map(({ origin, set, scope }) =>
    origin === "stack" ? "stack" : `set ${set}${scope === "account" ? " of the account" : ""}`,
  );
  return others.length === 0 ? first : `${first}, before ${others.join(", ")}`;
}

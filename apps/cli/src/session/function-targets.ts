import { resolve } from "node:path";
import { loadFunctionTargets } from "@stackwright/core";
import { isEngineError } from "@stackwright/core/errors";
import { FunctionCaller, type FunctionTargetTable } from "@stackwright/fg-bridge";
import type { CommandContext } from "../command-context.ts";
import { CommandError } from "../command-error.ts";

/** The operator's table and what calls functions through it. Disposing ends the connections. */
export interface LoadedFunctionTargets extends AsyncDisposable {
  /** The account whose registry is meant. */
  readonly account: string | undefined;
  readonly region: string;
  readonly projects: readonly string[];
  readonly targets: FunctionTargetTable;
  readonly caller: FunctionCaller;
}

/**
 * The functions that the folder of a command may call, from the table that `STACKWRIGHT_FUNCTIONS` names; undefined where
 * none is named.
 */
export async function openFunctions({
  env,
  directory,
}: Pick<CommandContext, "env" | "directory">): Promise<LoadedFunctionTargets | undefined> {
  const named = env.STACKWRIGHT_FUNCTIONS;
  if (named === undefined || named === "") return undefined;
  try {
    const opened = await loadFunctionTargets(resolve(directory, named), env);
    const { table, targets } = opened;
    return {
      account: table.account,
      region: table.region ?? "local",
      projects: table.projects,
      targets,
      caller: new FunctionCaller(),
      [Symbol.asyncDispose]: async () => opened[Symbol.asyncDispose](),
    };
  } catch (error) {
    if (!isEngineError(error, "ENGINE_CONFIG_INVALID")) throw error;
    throw new CommandError(error.message, {
      cause: error,
      advice:
        'It is JSON: {"region": ..., "projects": [...], "functions": {URN: {"url": ...}}, "networks": [...]}',
    });
  }
}

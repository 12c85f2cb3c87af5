import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import { FunctionCaller, TargetTable } from "@stackwright/fg-bridge";
import type { CommandContext } from "./command-context.ts";
import { CommandError } from "./command-error.ts";

/**
 * Where the functions of private providers are called: the operator's table, as a file of JSON that
 * `STACKWRIGHT_FUNCTIONS` names.
 */
interface FunctionsTable {
  /** The account and region whose registry is meant. @default the account of the stack, `local` */
  readonly account?: string;
  readonly region?: string;
  /** Projects whose functions may be called. */
  readonly projects: readonly string[];
  /** Self-hosted functions by URN. */
  readonly functions?: Readonly<Record<string, { readonly url: string }>>;
  /** Private networks that functions may be in, such as `127.0.0.0/8`. */
  readonly networks?: readonly string[];
}

/** The table and what calls functions through it. Disposing ends the connections. */
export interface OpenFunctions extends AsyncDisposable {
  readonly account: string | undefined;
  readonly region: string;
  readonly projects: readonly string[];
  readonly targets: TargetTable;
  readonly caller: FunctionCaller;
}

/** The functions that the folder of a command may call; undefined where no table is named. */
export async function openFunctions({
  env,
  directory,
}: Pick<CommandContext, "env" | "directory">): Promise<OpenFunctions | undefined> {
  const named = env.STACKWRIGHT_FUNCTIONS;
  if (named === undefined || named === "") return undefined;
  const path = resolve(directory, named);
  const table = await readTable(path);
  const targets = new TargetTable({
    functions: table.functions ?? {},
    guard: { allow: table.networks ?? [] },
  });
  return {
    account: table.account,
    region: table.region ?? "local",
    projects: table.projects,
    targets,
    caller: new FunctionCaller(),
    [Symbol.asyncDispose]: async () => targets[Symbol.asyncDispose](),
  };
}

async function readTable(path: string): Promise<FunctionsTable> {
  try {
    const table = JSON.parse(await readFile(path, "utf8")) as Partial<FunctionsTable> | null;
    if (!Array.isArray(table?.projects)) throw new Error('"projects" is missing');
    return table as FunctionsTable;
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new CommandError(`The table of functions "${path}" cannot be used: ${why}.`, {
      cause: error,
      advice:
        'It is JSON: {"region": ..., "projects": [...], "functions": {URN: {"url": ...}}, "networks": [...]}',
    });
  }
}

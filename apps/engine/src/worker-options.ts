import { parseArgs } from "node:util";
import { EngineError } from "@stackwright/core/errors";
import { nearOption } from "./near-option.ts";
import { variableOf, variableText, WORKER_VARIABLES } from "./option-variables.ts";
import { WORKER_FLAGS, type WorkerFlag } from "./worker-arguments.ts";

/** What a worker is given by options, and by variables where there is no option. */
export interface WorkerArguments {
  readonly values: Readonly<Partial<Record<WorkerFlag, string>>>;
  /** The option or the variable that gave a value, for messages: `--capacity` or `STACKWRIGHT_WORKER_CAPACITY`. */
  readonly nameOf: (flag: WorkerFlag) => string;
}

/** Reads arguments and variables. `ENGINE_CONFIG_INVALID` for options that do not exist. */
export function parseWorkerArguments(
  args: readonly string[],
  env: NodeJS.ProcessEnv,
): WorkerArguments {
  const flags = readFlags(args);
  const names = Object.keys(WORKER_FLAGS) as WorkerFlag[];
  const values: Partial<Record<WorkerFlag, string>> = {};
  for (const name of names) {
    const value = flags[name] ?? variableText(WORKER_VARIABLES, name, env);
    if (value !== undefined) values[name] = value;
  }
  const isVariable = (name: WorkerFlag): boolean =>
    flags[name] === undefined && values[name] !== undefined;
  return {
    values,
    nameOf: (name) => (isVariable(name) ? variableOf(WORKER_VARIABLES, name) : `--${name}`),
  };
}

function readFlags(args: readonly string[]): WorkerArguments["values"] {
  try {
    const options = Object.fromEntries(
      Object.keys(WORKER_FLAGS).map((name) => [name, { type: "string" } as const]),
    );
    return parseArgs({ args: [...args], options, strict: true }).values;
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    const [first = why] = why.split(". ");
    const advice = nearOption(first, Object.keys(WORKER_FLAGS));
    throw new EngineError(
      "ENGINE_CONFIG_INVALID",
      `${first}; stackwright worker --help lists all options`,
      { cause: error, details: { ...(advice !== undefined && { advice }) } },
    );
  }
}

/** The value of an option as a number within the bounds of the table; undefined where it is not given. `ENGINE_CONFIG_INVALID` for others. */
export function workerNumber(
  { values, nameOf }: WorkerArguments,
  name: WorkerFlag,
): number | undefined {
  const { [name]: text } = values;
  const { bounds } = WORKER_FLAGS[name] as { readonly bounds?: readonly [number, number] };
  if (text === undefined || bounds === undefined) return undefined;
  const [least, most] = bounds;
  if (/^[0-9]{1,9}$/.test(text) && Number(text) >= least && Number(text) <= most) {
    return Number(text);
  }
  throw new EngineError(
    "ENGINE_CONFIG_INVALID",
    `${nameOf(name)} takes a whole number from ${least} to ${most}`,
  );
}

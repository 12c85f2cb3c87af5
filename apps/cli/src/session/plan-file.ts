import { readFile, writeFile } from "node:fs/promises";
import { CommandError } from "../command-error.ts";

/**
 * What `plan --out` writes: the name of a stored plan. The plan itself is in the store, encrypted like the state; the
 * file contains no secrets, and has no use without the store.
 */
export interface PlanFile {
  readonly stackwright_plan: 1;
  readonly account: string;
  readonly project: string;
  readonly stack: string;
  /** SHA-256 of the stored plan: what is approved. */
  readonly digest: string;
  readonly created: string;
  /** Address of its store, without credentials. Older files have none. */
  readonly store?: string;
}

export async function writePlanFile(path: string, plan: PlanFile): Promise<void> {
  await writeFile(path, `${JSON.stringify(plan, undefined, 2)}\n`);
}

/** Reads a plan file. `CommandError` for anything else. */
export async function readPlanFile(path: string): Promise<PlanFile> {
  let text: string;
  try {
    text = await readFile(path, "utf8");
  } catch (error) {
    throw new CommandError(`The plan file "${path}" cannot be read.`, { cause: error });
  }
  const plan = parse(text);
  if (plan === undefined) {
    throw new CommandError(`"${path}" is not a Stackwright plan file.`, {
      advice: "Make one with: stackwright plan --out FILE",
    });
  }
  return plan;
}

/** The error that the store has no such plan, with the places to search. */
export function planNotFoundError(
  name: string,
  file: PlanFile,
  searched: string | undefined,
): CommandError {
  const { store, stack, project, created } = file;
  const made =
    store === undefined || store === searched
      ? "It has expired, or it was made with another store, by another account (STACKWRIGHT_ACCOUNT), or before the store was created again."
      : `It was made with the store ${store}: name that with --store, or go to the folder it is in.`;
  const where =
    searched === undefined ? "There is no store here" : `The store ${searched} does not have it`;
  return new CommandError(`The plan of "${name}" is not in the store.`, {
    advice: `${where} (stack "${stack}" of project "${project}", made ${created}). ${made}\nOr make a new one: stackwright plan --out ${name}`,
  });
}

function parse(text: string): PlanFile | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  const plan = value as Partial<PlanFile> | null;
  return plan?.stackwright_plan === 1 &&
    typeof plan.digest === "string" &&
    typeof plan.stack === "string"
    ? (plan as PlanFile)
    : undefined;
}

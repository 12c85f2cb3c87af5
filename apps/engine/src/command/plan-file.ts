import { readFile, writeFile } from "node:fs/promises";
import { CommandError } from "./command-error.ts";

/**
 * What `plan --out` writes: which stored plan is meant. The plan itself lies in the store, encrypted like the state; the
 * file holds nothing that is secret, and says nothing without the store.
 */
export interface PlanFile {
  readonly stackwright_plan: 1;
  readonly account: string;
  readonly project: string;
  readonly stack: string;
  /** SHA-256 of the stored plan: what is approved. */
  readonly digest: string;
  readonly created: string;
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
    throw new CommandError(`"${path}" is no plan file of this command.`, {
      advice: "Make one with: stackwright plan --out FILE",
    });
  }
  return plan;
}

/** Whether a path leads to a plan file. */
export async function isPlanFile(path: string): Promise<boolean> {
  return readFile(path, "utf8").then(
    (text) => parse(text) !== undefined,
    () => false,
  );
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

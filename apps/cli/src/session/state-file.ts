import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import {
  importedState,
  importState,
  readStateFile,
  type StackOutput,
  type StackSnapshot,
} from "@stackwright/core";
import type { CommandContext } from "../command-context.ts";
import { CommandError } from "../command-error.ts";

/** The outputs of a Terraform state file of version 4. */
export async function outputsOfFile(
  file: string,
  context: Pick<CommandContext, "directory">,
): Promise<ReadonlyMap<string, StackOutput>> {
  return importState(readStateFile(await textOf(file, context))).outputs;
}

/** What a Terraform state file of version 4 holds, as a state of a stack; undefined for a file of another kind. */
export async function snapshotOfFile(
  file: string,
  context: Pick<CommandContext, "directory">,
): Promise<StackSnapshot | undefined> {
  const text = await textOf(file, context);
  if (!isState(text)) return undefined;
  const reference = { account: "", project: "", stack: "" };
  return importedState(reference, readStateFile(text)).read();
}

/** Whether a file is a plan of the reference command, which is an archive. */
export async function isForeignPlan(
  file: string,
  { directory }: Pick<CommandContext, "directory">,
): Promise<boolean> {
  const bytes = await readFile(resolve(directory, file)).catch(() => undefined);
  return bytes?.subarray(0, 4).toString("latin1") === "PK\x03\x04";
}

async function textOf(
  file: string,
  { directory }: Pick<CommandContext, "directory">,
): Promise<string> {
  return readFile(resolve(directory, file), "utf8").catch((error: unknown) => {
    throw new CommandError(`The file "${file}" is not readable.`, { cause: error });
  });
}

function isState(text: string): boolean {
  try {
    const value = JSON.parse(text) as { readonly version?: unknown } | null;
    return typeof value?.version === "number";
  } catch {
    return false;
  }
}

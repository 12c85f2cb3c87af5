import type { StoredKeys } from "@stackwright/core";
import type { Run } from "@stackwright/proto/stackwright";
import type { RunReference } from "../domain/run-places.ts";
import { storedCipher } from "./stored-cipher.ts";

/** Values of root variables by their names, each as an expression of the language. */
type RunValues = Readonly<Record<string, string>>;

/** Encrypts the values that a run is requested with: any of them may be of a sensitive variable. */
export async function sealRunValues(
  keys: StoredKeys,
  reference: RunReference,
  values: RunValues,
): Promise<Uint8Array> {
  const cipher = await keys.ensure(reference.stack);
  return cipher.seal(Buffer.from(JSON.stringify(values)), contextOf(reference));
}

export async function openRunValues(
  keys: StoredKeys,
  reference: RunReference,
  { variables }: Pick<Run, "variables">,
): Promise<RunValues> {
  const cipher = await storedCipher(keys, reference.stack);
  const text = Buffer.from(cipher.open(variables, contextOf(reference))).toString("utf8");
  return JSON.parse(text) as RunValues;
}

function contextOf({ stack: { account, project, stack }, run }: RunReference): string {
  return ["run values", account, project, stack, run].join("\0");
}

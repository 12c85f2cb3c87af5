import type { StackReference, StoredKeys } from "@stackwright/core";
import type { StorageBackend } from "@stackwright/storage";
import { secretTextsOf } from "../executor/job-secrets.ts";
import { readRunVariables } from "./run-variables.ts";

/** The values of the sensitive variables of a stack, which no form of its plans may show. */
export async function readRunSecrets(
  parts: { readonly storage: StorageBackend; readonly keys: StoredKeys },
  stack: StackReference,
  stackName: string,
): Promise<readonly string[]> {
  return secretTextsOf({ ...(await readRunVariables(parts, stack, stackName)), keys: [] });
}

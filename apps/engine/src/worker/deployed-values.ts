import type { StackReference, StoredKeys } from "@stackwright/core";
import { RfsStack } from "@stackwright/proto/stackwright";
import { readStored, type StorageBackend } from "@stackwright/storage";
import { decodeRecord } from "../domain/record-kind.ts";
import { stackPlace } from "../domain/run-places.ts";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
import { idOf } from "../queue/transaction.ts";
import { openRunValues, sealRunValues } from "./run-values.ts";

interface ValueParts {
  readonly storage: StorageBackend;
  readonly keys: StoredKeys;
}

/** What the RFS API keeps of a stack; a message without anything where it keeps nothing. */
export async function readRfsStack(
  { storage }: Pick<ValueParts, "storage">,
  stack: StackReference,
): Promise<RfsStack> {
  const found = await readStored(storage, "strong", idOf(SERVER_KINDS.rfsStack, stackPlace(stack)));
  return found === undefined
    ? RfsStack.fromPartial({})
    : decodeRecord(SERVER_KINDS.rfsStack, found);
}

/**
 * The values of root variables with which a stack was deployed last by the RFS API, each as an expression: runs of all kinds have them, so
 * that the console, schedules and the deletion plan the same configuration with the same values.
 */
export async function deployedValues(
  parts: ValueParts,
  stack: StackReference,
): Promise<Readonly<Record<string, string>>> {
  const { variables, variablesRun: run } = await readRfsStack(parts, stack);
  if (variables.byteLength === 0) return {};
  return openRunValues(parts.keys, { stack, run }, { variables });
}

/** The members of the record that hold values. */
export async function sealDeployedValues(
  { keys }: Pick<ValueParts, "keys">,
  stack: StackReference,
  run: string,
  values: ReadonlyMap<string, string>,
): Promise<Pick<RfsStack, "variables" | "variablesRun">> {
  if (values.size === 0) return { variables: new Uint8Array(), variablesRun: "" };
  const plain = Object.fromEntries(values);
  return { variables: await sealRunValues(keys, { stack, run }, plain), variablesRun: run };
}

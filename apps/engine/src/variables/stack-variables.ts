import type { StackReference, StoredKeys } from "@stackwright/core";
import { Variable } from "@stackwright/proto/stackwright";
import type { StorageBackend } from "@stackwright/storage";
import { requireEnvironmentValues } from "../domain/environment-values.ts";
import { decodeRecord } from "../domain/record-kind.ts";
import { type Place, projectTenancy } from "../domain/run-places.ts";
import { ServerError } from "../domain/server-error.ts";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
import { readQueue } from "../queue/stack-queue.ts";
import { type TransactionParts, transact } from "../queue/transaction.ts";
import { CATEGORIES, variableContext, variablePrefix } from "../worker/run-variables.ts";
import { type DecideValue, storedValueOf, type VariableName } from "./new-value.ts";
import { byKey } from "./set-variables.ts";

const KIND = SERVER_KINDS.variable;
/** Bytes of the values of one stack, which all go to its executor at once; and their number. */
const MAX_STACK_BYTES = 2 * 1024 * 1024;
const MAX_STACK_VARIABLES = 1_000;

/** Names a variable of a stack. */
interface StackVariable extends VariableName {
  readonly stack: StackReference;
}

/** The variables of a stack itself, sorted by their keys. */
export async function listStackVariables(
  storage: StorageBackend,
  stack: StackReference,
): Promise<readonly Variable[]> {
  const found = await storage.list(
    "strong",
    KIND.type,
    projectTenancy(stack),
    variablePrefix(stack),
  );
  return found.map((one) => decodeRecord(KIND, one)).toSorted(byKey);
}

export function stackVariablePlace({ stack, category, key }: StackVariable): Place {
  return { tenancy: projectTenancy(stack), name: `${variablePrefix(stack)}${category}.${key}` };
}

/**
 * Adds a variable of a stack, or changes one. The generation is of this write: what is stored when it is answered may be another one, which
 * the caller has not seen.
 */
export async function writeStackVariable(
  parts: TransactionParts & { readonly keys: StoredKeys },
  at: StackVariable,
  decide: DecideValue,
): Promise<{
  readonly variable: Variable;
  readonly isNew: boolean;
  readonly generation: string;
}> {
  const { stack, category, key } = at;
  const place = stackVariablePlace(at);
  return transact(parts, async (tx) => {
    // Every variable that is set writes the queue, so that two at once do not both find room.
    tx.update(await readQueue(tx, stack), {});
    const row = await tx.find(KIND, place);
    const stored = row && { variable: row.message, version: row.resource.generation };
    const wanted = decide(stored);
    if (category === "env") requireEnvironmentValues({ [key]: wanted.value ?? "" });
    const seal = async (plain: Buffer): Promise<Buffer> => {
      const cipher = await parts.keys.ensure(stack);
      return Buffer.from(cipher.seal(plain, variableContext(stack, category, key)));
    };
    const variable = Variable.create({
      key,
      category: CATEGORIES[category],
      value: await storedValueOf(wanted, row?.message, seal),
      sensitive: wanted.sensitive ?? false,
      description: wanted.description ?? "",
      updatedAtMs: BigInt(tx.nowMs),
    });
    const size = wanted.value === undefined ? variable.value.byteLength : sizeOf(wanted.value);
    await requireRoom(parts, stack, place.name, size);
    if (row === undefined) tx.create(KIND, place, variable);
    else tx.update(row, variable);
    return { variable, isNew: row === undefined, generation: tx.generation };
  });
}

/** Deletes a variable of a stack. @param check throws where it is not to be deleted */
export async function removeStackVariable(
  parts: TransactionParts,
  at: StackVariable,
  check: (version: string) => void,
): Promise<void> {
  const place = stackVariablePlace(at);
  await transact(parts, async (tx) => {
    const row = await tx.find(KIND, place);
    if (row === undefined) throw noVariable(at.key);
    check(row.resource.generation);
    tx.remove(row);
  });
}

export function noVariable(key: string): ServerError {
  return new ServerError("not_found", `there is no variable "${key}"`);
}

function sizeOf(value: string): number {
  return Buffer.byteLength(value);
}

/** `unprocessable` where the other variables of a stack leave no room for a value. */
async function requireRoom(
  { storage }: Pick<TransactionParts, "storage">,
  stack: StackReference,
  name: string,
  size: number,
): Promise<void> {
  const found = await storage.list(
    "strong",
    KIND.type,
    projectTenancy(stack),
    variablePrefix(stack),
  );
  const others = found.filter(({ id }) => id.name !== name);
  const sizes = others.map((one) => decodeRecord(KIND, one).value.byteLength);
  const total = sizes.reduce((sum, one) => sum + one, size);
  if (total <= MAX_STACK_BYTES && others.length < MAX_STACK_VARIABLES) return;
  throw new ServerError(
    "unprocessable",
    `the variables of a stack have at most ${MAX_STACK_BYTES} bytes, and are at most ${MAX_STACK_VARIABLES}`,
  );
}

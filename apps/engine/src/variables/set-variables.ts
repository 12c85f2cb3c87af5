import { Variable, type VariableSet } from "@stackwright/proto/stackwright";
import { ServerError } from "../domain/server-error.ts";
import { CATEGORIES } from "../worker/run-variables.ts";
import { type NewValue, storedValueOf, type VariableName } from "./new-value.ts";

/** Sets of a project, and of an account. */
export const MAX_SETS = 100;
/** Variables of a set, and bytes of their values together, so that a set is one record. */
const MAX_SET_VARIABLES = 200;
const MAX_SET_BYTES = 256 * 1024;

/** A variable of a set; undefined where it has none of the name. */
export function variableOf(
  { variables }: Pick<VariableSet, "variables">,
  { category, key }: VariableName,
): Variable | undefined {
  const wanted = { category: CATEGORIES[category], key };
  return variables.find((one) => isSame(one, wanted));
}

/** A variable as it is stored in a set, in the place of one. */
export async function storedVariable(
  { category, key }: VariableName,
  wanted: NewValue,
  stored: Variable | undefined,
  seal: (plain: Buffer) => Promise<Buffer>,
  nowMs: number,
): Promise<Variable> {
  return Variable.create({
    key,
    category: CATEGORIES[category],
    value: await storedValueOf(wanted, stored, seal),
    sensitive: wanted.sensitive ?? false,
    description: wanted.description ?? "",
    updatedAtMs: BigInt(nowMs),
  });
}

/** Variables with one more, or with another in place of one. `unprocessable` where they are too many or too large. */
export function withVariable(variables: readonly Variable[], variable: Variable): Variable[] {
  const changed = [...variables.filter((one) => !isSame(one, variable)), variable];
  requireRoomForVariables(changed);
  return changed;
}

/** Variables without one. `not_found` where it is not among them. */
export function withoutVariable(
  { name, variables }: Pick<VariableSet, "name" | "variables">,
  { category, key }: VariableName,
): Variable[] {
  const deleted = { category: CATEGORIES[category], key };
  const left = variables.filter((one) => !isSame(one, deleted));
  if (left.length < variables.length) return left;
  throw new ServerError("not_found", `the set "${name}" has no variable "${key}"`);
}

/** The order in which variables are listed. */
export function byKey(
  a: Pick<Variable, "category" | "key">,
  b: Pick<Variable, "category" | "key">,
) {
  if (a.key === b.key) return a.category - b.category;
  return a.key < b.key ? -1 : 1;
}

function isSame(a: Pick<Variable, "category" | "key">, b: Pick<Variable, "category" | "key">) {
  return a.category === b.category && a.key === b.key;
}

function requireRoomForVariables(variables: readonly Variable[]): void {
  const bytes = variables.reduce(
    (sum, { value, description }) => sum + value.byteLength + Buffer.byteLength(description),
    0,
  );
  if (bytes <= MAX_SET_BYTES && variables.length <= MAX_SET_VARIABLES) return;
  throw new ServerError(
    "unprocessable",
    `the variables of a set have at most ${MAX_SET_BYTES} bytes, and are at most ${MAX_SET_VARIABLES}`,
  );
}

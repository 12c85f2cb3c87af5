import { Variable, type VariableSet } from "@stackwright/proto/stackwright";
import type { FastifyRequest } from "fastify";
import type { Static } from "typebox";
import { ServerError } from "../../domain/server-error.ts";
import type { StoredRow } from "../../queue/transaction.ts";
import { CATEGORIES } from "../../worker/run-variables.ts";
import { requireMatch } from "../api-parts.ts";
import type { NewVariable } from "../variables/variable-view.ts";

/** Sets of a project, and of an account. */
export const MAX_SETS = 100;
/** Variables of a set, and bytes of their values together, so that a set is one record. */
const MAX_SET_VARIABLES = 200;
const MAX_SET_BYTES = 256 * 1024;

/** Names a variable of a set. */
interface SetVariable {
  readonly category: keyof typeof CATEGORIES;
  readonly key: string;
}

/** What a request that sets a variable makes of a set. */
interface VariableChange {
  readonly variable: Variable;
  /** Whether the set had none of its name. */
  readonly isAdded: boolean;
  readonly change: Pick<VariableSet, "variables" | "updatedAtMs">;
}

/** Sets a variable of a set; to replace one, the request has to name the version of the set. */
export async function setVariableOf(
  request: FastifyRequest<{ Params: SetVariable; Body: Static<typeof NewVariable> }>,
  { message, resource }: StoredRow<Pick<VariableSet, "variables">>,
  seal: (plain: Buffer) => Promise<Buffer>,
  nowMs: number,
): Promise<VariableChange> {
  const variable = await storedVariable(request.params, request.body, seal, nowMs);
  const { variables, isAdded } = withVariable(message.variables, variable);
  if (!isAdded || request.headers["if-match"] !== undefined) {
    requireMatch(request, resource.generation);
  }
  return { variable, isAdded, change: { variables, updatedAtMs: variable.updatedAtMs } };
}

/** A variable as it is stored in a set. */
async function storedVariable(
  { category, key }: SetVariable,
  { value, sensitive = false, description = "" }: Static<typeof NewVariable>,
  seal: (plain: Buffer) => Promise<Buffer>,
  nowMs: number,
): Promise<Variable> {
  const plain = Buffer.from(value);
  return Variable.create({
    key,
    category: CATEGORIES[category],
    value: sensitive ? await seal(plain) : plain,
    sensitive,
    description,
    updatedAtMs: BigInt(nowMs),
  });
}

/** Variables with one more, or with another in place of one. `unprocessable` where they are too many or too large. */
function withVariable(
  variables: readonly Variable[],
  variable: Variable,
): { readonly variables: Variable[]; readonly isAdded: boolean } {
  const others = variables.filter((one) => !isSame(one, variable));
  const changed = [...others, variable];
  requireRoomForVariables(changed);
  return { variables: changed, isAdded: others.length === variables.length };
}

/** Variables without one. `not_found` where it is not among them. */
export function withoutVariable(
  { name, variables }: { readonly name: string; readonly variables: readonly Variable[] },
  { category, key }: SetVariable,
): Variable[] {
  const deleted = { category: CATEGORIES[category], key };
  const left = variables.filter((one) => !isSame(one, deleted));
  if (left.length < variables.length) return left;
  throw new ServerError("not_found", `the set "${name}" has no variable "${key}"`);
}

/** What is answered where a set does not exist, or is none of the caller's business. */
export function noSet(name: string): ServerError {
  return new ServerError("not_found", `there is no variable set "${name}"`);
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

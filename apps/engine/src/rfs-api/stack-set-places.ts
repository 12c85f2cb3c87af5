import type { StackReference, StoredKeys } from "@stackwright/core";
import type { RfsStackInstance, RfsStackSetValues } from "@stackwright/proto/stackwright";
import { RfsStacksError } from "@stackwright/rfs-stacks";
import { accountTenancy } from "../access/access-places.ts";
import type { Place } from "../domain/run-places.ts";

/** Names a stack set. */
export interface StackSetReference {
  readonly account: string;
  readonly name: string;
}

export function stackSetPlace({ account, name }: StackSetReference): Place {
  return { tenancy: accountTenancy(account), name };
}

/** What each new set of an account writes. */
export function setCountPlace(account: string): Place {
  return { tenancy: accountTenancy(account), name: "stack-sets" };
}

/** Where an operation is of a set that has an id; without an operation, what the names of all of them begin with. */
export function setOperationPlace(account: string, set: string, operation: string): Place {
  return { tenancy: accountTenancy(account), name: `${set}.${operation}` };
}

/** Where the data keys of the stack sets of an account are. Ids of stacks are ULIDs, so that no stack has this one. */
function stackSetKeys(account: string): StackReference {
  return { account, project: "default", stack: "stack-sets" };
}

/** Encrypts values of root variables: any of them may be of a sensitive variable. */
export async function sealSetValues(
  keys: StoredKeys,
  account: string,
  id: string,
  values: ReadonlyMap<string, string>,
): Promise<RfsStackSetValues | undefined> {
  if (values.size === 0) return undefined;
  const cipher = await keys.ensure(stackSetKeys(account));
  const text = JSON.stringify(Object.fromEntries(values));
  const sealed = cipher.seal(Buffer.from(text), contextOf(account, id));
  return { id, names: [...values.keys()].toSorted(), sealed };
}

export async function openSetValues(
  keys: StoredKeys,
  account: string,
  values: RfsStackSetValues | undefined,
): Promise<ReadonlyMap<string, string>> {
  if (values === undefined) return new Map();
  const cipher = await keys.ensure(stackSetKeys(account));
  const text = Buffer.from(cipher.open(values.sealed, contextOf(account, values.id)));
  return new Map(Object.entries(JSON.parse(text.toString("utf8")) as Record<string, string>));
}

/** Bytes of all values of a set: they are in its record, which has room for what its instances say of themselves as well. */
const MAX_VALUE_BYTES = 512 * 1024;

/** Refuses values that the record of a set has no room for. */
export function requireRoom(
  values: RfsStackSetValues | undefined,
  overrides: readonly RfsStackSetValues[],
): void {
  const bytes = [values, ...overrides].reduce((sum, one) => sum + (one?.sealed.byteLength ?? 0), 0);
  if (bytes <= MAX_VALUE_BYTES) return;
  throw new RfsStacksError(
    "RFS_LIMIT_REACHED",
    `the values of the stack set and of its instances would have ${bytes} bytes, and may have ${MAX_VALUE_BYTES}: override fewer variables, give instances that are alike the same values in one request, or make another stack set`,
  );
}

/** The values that some instance has, each once. */
export function usedOverrides(
  instances: readonly RfsStackInstance[],
  overrides: readonly RfsStackSetValues[],
): RfsStackSetValues[] {
  const used = new Set(instances.map((instance) => instance.overrides));
  const byId = new Map(overrides.map((values) => [values.id, values]));
  return [...byId.values()].filter(({ id }) => used.has(id));
}

function contextOf(account: string, id: string): string {
  return ["stack set values", account, id].join("\0");
}

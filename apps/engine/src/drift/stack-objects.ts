import type { StackReference } from "@stackwright/core";
import {
  type DriftLoad,
  type DriftPart,
  StateObject,
  StateObject_Mode,
} from "@stackwright/proto/stackwright";
import { listResources } from "@stackwright/storage";
import { isOfPart } from "../domain/drift-rule.ts";
import { decodeRecord, recordKind } from "../domain/record-kind.ts";
import { memberPlace } from "../domain/run-places.ts";
import type { TransactionParts } from "../queue/transaction.ts";

const OBJECT_KIND = recordKind("StateObject", StateObject);

/** Objects that {@link mayHaveObjectsAt} looks at: it is asked by requests, many in a second. */
const MAX_LOOKED_AT = 1_000;

type Reading = Pick<TransactionParts, "storage">;
type Meant = (object: Pick<StateObject, "address" | "type">) => boolean;

/** What a check is about: the objects of a part of a rule, those at some addresses, or all. */
export type CheckedObjects =
  | { readonly part: DriftPart }
  | { readonly resources: readonly string[] }
  | "all";

/** How many objects of each provider a check of a stack reads. */
export async function loadsOf(
  parts: Reading,
  stack: StackReference,
  checked: CheckedObjects,
): Promise<readonly DriftLoad[]> {
  const isMeant = meantBy(checked);
  const counts = new Map<string, number>();
  for await (const object of managedObjects(parts, stack)) {
    if (isMeant(object)) counts.set(object.provider, (counts.get(object.provider) ?? 0) + 1);
  }
  return Array.from(counts, ([provider, objects]) => ({ provider, objects }));
}

function meantBy(checked: CheckedObjects): Meant {
  if (checked === "all") return () => true;
  return "part" in checked ? ({ type }) => isOfPart(checked.part, type) : areAt(checked.resources);
}

/** The objects of a stack that are of a part of its rule. */
export async function addressesOf(
  parts: Reading,
  stack: StackReference,
  part: DriftPart,
): Promise<readonly string[]> {
  return addressesWhere(parts, stack, ({ type }) => isOfPart(part, type));
}

/** The objects of a stack at some addresses, which may stand for all instances of a resource or a module. */
export async function objectsOf(
  parts: Reading,
  stack: StackReference,
  resources: readonly string[],
): Promise<readonly string[]> {
  return addressesWhere(parts, stack, areAt(resources));
}

/** Whether a stack may have an object at some addresses. It has none where this is false; of a large stack only a part is looked at. */
export async function mayHaveObjectsAt(
  parts: Reading,
  stack: StackReference,
  resources: readonly string[],
): Promise<boolean> {
  const isMeant = areAt(resources);
  let lookedAt = 0;
  for await (const object of managedObjects(parts, stack)) {
    lookedAt += 1;
    if (isMeant(object) || lookedAt >= MAX_LOOKED_AT) return true;
  }
  return false;
}

function areAt(resources: readonly string[]): Meant {
  return ({ address }) =>
    resources.some(
      (one) => address === one || address.startsWith(`${one}[`) || address.startsWith(`${one}.`),
    );
}

/** Addresses of objects of a stack. What a check finds is compared with the state of its own. */
async function addressesWhere(
  parts: Reading,
  stack: StackReference,
  isMeant: Meant,
): Promise<readonly string[]> {
  const addresses = new Set<string>();
  for await (const object of managedObjects(parts, stack)) {
    if (isMeant(object)) addresses.add(object.address);
  }
  return [...addresses].toSorted();
}

async function* managedObjects(
  { storage }: Reading,
  stack: StackReference,
): AsyncGenerator<Parameters<Meant>[0] & { readonly provider: string }> {
  const { tenancy, name } = memberPlace(stack, "");
  const { type } = OBJECT_KIND;
  for await (const one of listResources(storage, "strong", type, tenancy, name, {})) {
    const { address, mode, type: ofObject, provider } = decodeRecord(OBJECT_KIND, one);
    if (mode !== StateObject_Mode.MODE_MANAGED) continue;
    yield { address, type: ofObject, provider: provider?.source ?? "" };
  }
}

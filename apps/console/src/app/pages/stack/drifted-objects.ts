import type { Operations, StackDrift } from "@stackwright/client";

export type DriftedObject = StackDrift["objects"][number];

type Difference = Operations["IgnoreDriftOfSeveral"]["input"]["body"]["differences"][number];

/** An object has several entries where deposed ones of it differ, too. */
export function keyOf({
  address,
  deposed = "",
}: {
  readonly address: string;
  readonly deposed?: string | undefined;
}): string {
  return `${address} ${deposed}`;
}

/** What is ignored of objects: one attribute, all of each, or each attribute that differs now. Of one that is gone it is all. */
export function ignoredPlaces(
  objects: readonly DriftedObject[],
  { attribute, isWhole = attribute === "" }: { readonly attribute?: string; isWhole?: boolean },
): readonly Difference[] {
  const found = new Map<string, Difference>();
  for (const { address, deleted, attributes } of objects) {
    const names = attribute === undefined ? attributes : [attribute];
    const isAll = isWhole || deleted || names.length === 0;
    for (const one of isAll ? [{ address }] : names.map((name) => ({ address, attribute: name }))) {
      found.set(JSON.stringify(one), one);
    }
  }
  return [...found.values()];
}

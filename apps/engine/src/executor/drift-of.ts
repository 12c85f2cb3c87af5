import { driftedAttributes, type Plan, type Redactor } from "@stackwright/core";
import { boundDrift, type FoundDrift } from "../domain/found-drift.ts";

/** What the plan of a check found, without values: the view of the plan has those that may be shown. */
export function driftOf({ drift, changes }: Plan, secrets: Redactor): FoundDrift {
  const legacy = new Set(
    changes.filter((one) => one.legacyTypeSystem).map((one) => `${one.address} ${one.deposed}`),
  );
  const objects = drift.flatMap(({ address, deposed, before, after }) => {
    const deleted = after === undefined;
    const attributes = deleted
      ? []
      : driftedAttributes(before, after, legacy.has(`${address} ${deposed}`));
    // What a provider only writes in another way is no drift.
    if (!deleted && attributes.length === 0) return [];
    return [{ address: secrets.redact(address), deposed, deleted, attributes }];
  });
  const deleted = objects.filter((one) => one.deleted).length;
  return boundDrift({ changed: objects.length - deleted, deleted, objects });
}

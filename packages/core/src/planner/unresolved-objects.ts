import type { Diagnostic } from "@stackwright/lang";
import { recoveredBytes } from "../state/state-object.ts";
import type { Moves } from "./moves.ts";

/**
 * Objects whose existence is unknown. Nothing is planned for them and their dependents until an operator has resolved
 * them: a second create could make a second object.
 */
export function unresolvedObjects(
  { objects, previous }: Moves,
  diagnostics: Diagnostic[],
): readonly string[] {
  const addresses: string[] = [];
  for (const object of objects.values()) {
    const { address: planned, phase, operation } = object;
    if (phase !== "unresolved") continue;
    addresses.push(planned);
    // It stays under the address that is recorded, and is resolved under that one.
    const address = previous.get(planned) ?? planned;
    // What has private bytes may be made of parts: only its provider knows which of them are meant.
    const how = recoveredBytes(object).length > 0 ? "recover --absent" : "state resolve-absent";
    diagnostics.push({
      severity: "warning",
      code: "ENGINE_UNRESOLVED",
      summary: "Outcome of an earlier operation is not known",
      detail: `${operation?.problem ?? "It is not known whether the object exists."}\n\nIt and what depends on it are left out of the plan. Look for the object. Several are resolved with "stackwright recover". If the object exists: stackwright recover --id ADDRESS=ID. If it does not:\n  stackwright ${how} '${address}'`,
      address,
    });
  }
  return addresses;
}

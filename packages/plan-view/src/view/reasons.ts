import type { GivenChange } from "./given-plan.ts";

/** Reasons of a planner as sentences. A replacement for an attribute is explained by its paths. */
const REASONS: Readonly<Record<string, string>> = {
  "replace-because-tainted": "the object is tainted: an earlier step on it did not succeed",
  "replace-by-request": "the replacement was requested",
  "replace-by-triggers": "something in replace_triggered_by changes",
  "delete-because-no-resource-config": "it is not in the configuration",
  "delete-because-wrong-repetition":
    "its address does not fit count or for_each of the configuration",
  "delete-because-count-index": "its index is beyond count",
  "delete-because-each-key": "its key is not in for_each",
  "delete-because-no-module": "its module is not in the configuration",
  "delete-because-no-move-target": "it was moved to an address without a configuration",
  "read-because-config-unknown": "its arguments contain values that are known after apply",
  "read-because-dependency-pending": "it depends on something that changes",
  "read-because-check-nested": "it belongs to a check that runs after apply",
};

/** The sentence that says why a change happens, without its full stop. */
export function reasonOf(
  { reason, action, createBeforeDestroyFor: forced, order }: GivenChange,
  replacePaths: readonly string[],
): string | undefined {
  if (
    reason === "replace-because-cannot-update" ||
    (action === "replace" && reason === undefined)
  ) {
    if (replacePaths.length === 0) return undefined;
    const what = replacePaths.slice(0, 3).join(", ");
    const more = replacePaths.length > 3 ? ` and ${replacePaths.length - 3} more` : "";
    return `${what}${more} cannot change in place`;
  }
  if (action === "replace" && order === "create-first" && forced !== undefined) {
    return `created before it is destroyed because ${forced} is`;
  }
  return reason === undefined ? undefined : REASONS[reason];
}

import type { RunCancel } from "@stackwright/proto/stackwright";

/** Why a run ends whose apply was interrupted: the cancel that was requested before, and what was found since. */
export function canceledReason({ actor }: Pick<RunCancel, "actor">, found = ""): string {
  return found === "" ? `canceled by ${actor}` : `canceled by ${actor}; ${found}`;
}

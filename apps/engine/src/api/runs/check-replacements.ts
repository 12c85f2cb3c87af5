import type { RunModeName } from "../../domain/run-modes.ts";
import { ServerError } from "../../domain/server-error.ts";

/** `unprocessable` for objects to replace in a run whose plan destroys everything or only refreshes: it would pass over them. */
export function checkReplacements(mode: RunModeName, replace: readonly string[]): void {
  if (replace.length === 0 || (mode !== "destroy" && mode !== "refresh_only")) return;
  throw new ServerError(
    "unprocessable",
    `replace does not go with the mode ${mode}: objects are replaced by a plan of the configuration`,
  );
}

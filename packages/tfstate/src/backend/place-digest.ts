import { createHash } from "node:crypto";
import type { StateBackend } from "./state-backend.ts";

/** SHA-256, in hexadecimal, of what tells the state of a workspace from all others. Undefined where the backend does not know it. */
export function placeDigest(
  { type, identity }: Pick<StateBackend, "type" | "identity">,
  workspace: string,
): string | undefined {
  if (identity === undefined) return undefined;
  return createHash("sha256")
    .update(JSON.stringify([type, identity(workspace)]))
    .digest("hex");
}

import { createHash } from "node:crypto";
import { createUlidGenerator } from "@stackwright/storage";

/** A ULID that follows from what it is for: whatever requests the same run gives it the same id. */
export function derivedRunId(atMs: number, identity: readonly string[]): string {
  const digest = createHash("sha256").update(identity.join("\0")).digest();
  return createUlidGenerator({
    wallMs: () => atMs,
    randomBytes: (count) => digest.subarray(0, count),
  })();
}

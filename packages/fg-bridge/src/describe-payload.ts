import { createHash } from "node:crypto";

/** Size and digest of a payload for logs. Its content is never logged: it has provider credentials and secret values. */
export function describePayload(bytes: Uint8Array): {
  readonly bytes: number;
  readonly sha256: string;
} {
  return {
    bytes: bytes.length,
    sha256: createHash("sha256").update(bytes).digest("hex").slice(0, 16),
  };
}

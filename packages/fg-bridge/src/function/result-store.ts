import { createHash, randomBytes } from "node:crypto";
import type { ResponseReference } from "../envelope/extensions.ts";

/** Where responses are left that are too large for an envelope. */
export interface ResultStore {
  /** Stores the bytes; the reference must work for the caller, and must not be guessable by others. */
  put(bytes: Uint8Array): Promise<ResponseReference>;
}

/** Results that the function's own server hands out once. */
export interface ServedResults extends ResultStore {
  /** The bytes under a path of the server; `undefined` for others. */
  take(path: string): Uint8Array | undefined;
}

/** Path below which results are served. */
const RESULTS = "/results/";

/**
 * Keeps results in memory for a while, under paths that cannot be guessed. For functions with one instance: another
 * instance does not have them.
 */
export function createServedResults(
  options: {
    readonly maxBytes?: number;
    readonly keepMs?: number;
    readonly now?: () => number;
  } = {},
): ServedResults {
  const { maxBytes = 256 * 1024 * 1024, keepMs = 300_000, now = () => performance.now() } = options;
  const kept = new Map<string, { readonly bytes: Uint8Array; readonly until: number }>();
  let total = 0;
  const drop = (path: string) => {
    total -= kept.get(path)?.bytes.length ?? 0;
    kept.delete(path);
  };
  return {
    async put(bytes) {
      const url = `${RESULTS}${randomBytes(24).toString("base64url")}`;
      kept.set(url, { bytes, until: now() + keepMs });
      total += bytes.length;
      for (const [path, { until }] of kept) {
        if (path === url || (total <= maxBytes && until >= now())) break;
        drop(path);
      }
      const sha256 = createHash("sha256").update(bytes).digest("hex");
      return { url, sha256, sizeBytes: bytes.length };
    },
    take(path) {
      const found = kept.get(path);
      return found === undefined || found.until < now() ? undefined : found.bytes;
    },
  };
}

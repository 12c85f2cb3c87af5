import { createHash } from "node:crypto";
import type { Metadata } from "@stackwright/proto/grpc";

/** Digests kept for one caller, and callers kept; the oldest go first. */
const MOST_BLOBS = 10_000;
const MOST_CALLERS = 1_000;

/** Which blobs callers wrote lately. One that is forgotten is only written once more. */
export class WrittenBlobs {
  readonly #callers = new Map<string, Set<string>>();

  add(caller: Metadata, sha256: string): void {
    const name = nameOf(caller);
    const written = this.#callers.get(name) ?? new Set();
    this.#callers.delete(name);
    this.#callers.set(name, written);
    written.delete(sha256);
    written.add(sha256);
    dropOldest(written, MOST_BLOBS);
    dropOldest(this.#callers, MOST_CALLERS);
  }

  has(caller: Metadata, sha256: string): boolean {
    return this.#callers.get(nameOf(caller))?.has(sha256) === true;
  }
}

/** Tokens themselves are not kept. */
function nameOf(caller: Metadata): string {
  const header = caller.get("authorization").join();
  return createHash("sha256").update(header).digest("base64");
}

function dropOldest(kept: Map<string, unknown> | Set<string>, most: number): void {
  for (const key of kept.keys()) {
    if (kept.size <= most) return;
    kept.delete(key);
  }
}

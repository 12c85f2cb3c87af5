import { randomUUID } from "node:crypto";
import type { Clock } from "@stackwright/base/clock";
import type { StorageBackend } from "@stackwright/storage";
import type { Grant } from "@stackwright/storage/remote";
import { findClaim } from "../queue/run-token.ts";
import { runGrant } from "./run-grants.ts";

/** Grants that are kept, of the tokens that were used last. */
const MAX_KEPT = 1_000;

/**
 * What the tokens of claims allow in the store. Each question reads the ticket: the token ends with its claim, on every server. The
 * grant of a token stays one object, by which the bytes of its blobs are counted.
 */
export class ClaimGrants {
  readonly #storage: StorageBackend;
  readonly #clock: Clock;
  readonly #grants = new Map<string, Grant>();

  constructor({ storage, clock }: { readonly storage: StorageBackend; readonly clock: Clock }) {
    this.#storage = storage;
    this.#clock = clock;
  }

  /** What a token allows; undefined where its claim has ended. */
  async authorize(token: string): Promise<Grant | undefined> {
    const parts = {
      storage: this.#storage,
      clock: this.#clock,
      token: randomUUID,
      random: Math.random,
    };
    const found = await findClaim(parts, token);
    const known = this.#grants.get(token);
    this.#grants.delete(token);
    if (found === undefined) return undefined;
    const { claim, writesState } = found;
    const grant = known ?? runGrant(claim.reference.stack, writesState ? "write" : "plan");
    this.#grants.set(token, grant);
    for (const oldest of this.#grants.keys()) {
      if (this.#grants.size <= MAX_KEPT) break;
      this.#grants.delete(oldest);
    }
    return grant;
  }
}

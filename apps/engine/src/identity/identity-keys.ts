import { createPrivateKey, createPublicKey, generateKeyPair, type KeyObject } from "node:crypto";
import { promisify } from "node:util";
import type { Clock } from "@stackwright/base/clock";
import { calculateJwkThumbprint, exportJWK, type JWK } from "jose";

const DAY_MS = 24 * 3_600_000;
/** How long one key signs. */
const PERIOD_MS = 90 * DAY_MS;
/** How long before its first use a key is published, and how long after its last one: longer than a token lives, and answers are cached. */
const OVERLAP_MS = DAY_MS;
/** What all platforms verify. */
export const IDENTITY_ALGORITHM = "RS256";
const KEY_BITS = 2_048;

/** A key that signs tokens of runs. */
interface IdentityKey {
  readonly id: string;
  readonly key: KeyObject;
  readonly published: JWK;
}

/** A published key, and when it signs. */
export interface DescribedKey {
  readonly id: string;
  readonly state: "former" | "current" | "next";
  /** Milliseconds since 1970. */
  readonly signsFromMs: number;
  readonly signsUntilMs: number;
}

interface IdentityKeysOptions {
  readonly clock: Pick<Clock, "wallMs">;
  /** A secret that all servers of the store share, stored encrypted; `make` makes it where there is none. */
  readonly secret: (name: string, make: () => Promise<Uint8Array>) => Promise<Uint8Array>;
}

/**
 * The keys that sign tokens of runs, one for each 90 days. Which one it is follows from the time alone, so that all servers of a store
 * agree without asking each other; the first that needs a key makes it.
 */
export class IdentityKeys {
  readonly #options: IdentityKeysOptions;
  readonly #known = new Map<number, Promise<IdentityKey>>();

  constructor(options: IdentityKeysOptions) {
    this.#options = options;
  }

  /** The key that signs now. */
  async current(): Promise<IdentityKey> {
    return this.#key(periodAt(this.#options.clock.wallMs()));
  }

  /** The public halves of the keys of all tokens that may be valid, and of the one that signs soon. */
  async published(): Promise<readonly JWK[]> {
    return Promise.all(this.#periods().map(async (period) => (await this.#key(period)).published));
  }

  /** The published keys with what each is for, the one that signs first. */
  async described(): Promise<readonly DescribedKey[]> {
    const [current = 0] = this.#periods();
    return Promise.all(
      this.#periods().map(async (period) => ({
        id: (await this.#key(period)).id,
        state: period === current ? "current" : period < current ? "former" : "next",
        signsFromMs: period * PERIOD_MS,
        signsUntilMs: (period + 1) * PERIOD_MS,
      })),
    );
  }

  /** Of the published keys, that of now first. */
  #periods(): readonly number[] {
    const nowMs = this.#options.clock.wallMs();
    return [...new Set([nowMs, nowMs - OVERLAP_MS, nowMs + OVERLAP_MS].map(periodAt))];
  }

  async #key(period: number): Promise<IdentityKey> {
    let known = this.#known.get(period);
    if (known === undefined) {
      known = this.#read(period);
      this.#known.set(period, known);
      known.catch(() => this.#known.delete(period));
    }
    return known;
  }

  async #read(period: number): Promise<IdentityKey> {
    const der = await this.#options.secret(`identity-key-${period}`, makeKey);
    const key = createPrivateKey({ key: Buffer.from(der), format: "der", type: "pkcs8" });
    const jwk = await exportJWK(createPublicKey(key));
    const id = await calculateJwkThumbprint(jwk);
    return { id, key, published: { ...jwk, kid: id, alg: IDENTITY_ALGORITHM, use: "sig" } };
  }
}

function periodAt(wallMs: number): number {
  return Math.floor(wallMs / PERIOD_MS);
}

async function makeKey(): Promise<Uint8Array> {
  const { privateKey } = await promisify(generateKeyPair)("rsa", { modulusLength: KEY_BITS });
  return privateKey.export({ format: "der", type: "pkcs8" });
}

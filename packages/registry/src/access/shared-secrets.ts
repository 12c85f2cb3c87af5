import { randomBytes } from "node:crypto";
import type { Clock } from "@stackwright/base/clock";
import { RegistrySecret } from "@stackwright/proto/stackwright";
import { isStorageError } from "@stackwright/storage";
import { type RecordName, type RecordStore, recordKind } from "../domain/record-store.ts";
import { SYSTEM_TENANCY } from "../domain/scope.ts";
import type { KeyRing } from "./key-ring.ts";

export const SECRET = recordKind("RegistrySecret", RegistrySecret);

/** What is authenticated with a secret of this name. */
export function purposeOfSecret(name: string): string {
  return `registry-secret\0${name}`;
}

/**
 * Secrets that all instances on one store share: the key of markers and of file addresses, the signing key. Created at
 * their first use, stored encrypted, and kept in memory from then on.
 */
export class SharedSecrets {
  readonly #records: RecordStore;
  readonly #keys: KeyRing;
  readonly #clock: Clock;
  readonly #known = new Map<string, Promise<Buffer>>();

  constructor(records: RecordStore, keys: KeyRing, clock: Clock) {
    this.#records = records;
    this.#keys = keys;
    this.#clock = clock;
  }

  /** 32 random bytes, the same for all callers with this name. */
  key(name: string): Promise<Buffer> {
    return this.secret(name, async () => randomBytes(32));
  }

  /** A secret that `make` makes where there is none. */
  async secret(name: string, make: () => Promise<Uint8Array>): Promise<Buffer> {
    let known = this.#known.get(name);
    if (known === undefined) {
      known = this.#obtain(name, make);
      this.#known.set(name, known);
      known.catch(() => this.#known.delete(name));
    }
    return known;
  }

  async #obtain(name: string, make: () => Promise<Uint8Array>): Promise<Buffer> {
    const at: RecordName<RegistrySecret> = { kind: SECRET, tenancy: SYSTEM_TENANCY, name };
    const purpose = purposeOfSecret(name);
    const stored = await this.#records.read(at);
    if (stored?.value.value !== undefined) return this.#keys.open(stored.value.value, purpose);
    const secret = Buffer.from(await make());
    const value = this.#keys.seal(secret, purpose);
    const createTimeMs = BigInt(this.#clock.wallMs());
    try {
      await this.#records.write(at, { name, value, createTimeMs }, stored);
      return secret;
    } catch (error) {
      // Another instance was first: its secret counts.
      if (!isStorageError(error, "STORAGE_CAS_FAILURE", "STORAGE_WRONG_UID")) throw error;
      return this.#obtain(name, make);
    }
  }
}

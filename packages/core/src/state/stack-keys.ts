import { randomBytes } from "node:crypto";
import { StackKeys, type StackKeys_DataKey } from "@stackwright/proto/stackwright";
import {
  type CallOptions,
  isStorageError,
  type Resource,
  readStored,
  type StorageBackend,
} from "@stackwright/storage";
import { EngineError } from "../errors.ts";
import type { KeyEncryptionKey } from "../secrets/key-encryption.ts";
import {
  createStackCipher,
  type DataKey,
  type StackCipher,
  unwrapKey,
  wrapKey,
} from "../secrets/stack-cipher.ts";
import { decodeKind, STATE_KINDS, stackResourceId, typeUrl } from "./kinds.ts";
import type { StackReference } from "./stack-state.ts";

/** Where the data keys of stacks come from: a store, or a server that lends them to a remote worker. */
export interface CipherSource {
  /** The cipher of a stack; `undefined` when it has no data keys, so that nothing of it can be encrypted. */
  load(reference: StackReference, options?: CallOptions): Promise<StackCipher | undefined>;
  /** The same; makes the first data key where there is none. `ENGINE_KEY_UNAVAILABLE` where it cannot. */
  ensure(reference: StackReference, options?: CallOptions): Promise<StackCipher>;
}

/** Data keys in the store, encrypted with key-encryption keys. */
export interface StoredKeys extends CipherSource {
  /** Adds a data key, which encrypts from now on; what is encrypted with older ones stays readable. */
  rotate(reference: StackReference, options?: CallOptions): Promise<void>;
  /** Encrypts all data keys with the current key-encryption key, after that was changed. */
  rewrap(reference: StackReference, options?: CallOptions): Promise<void>;
  /** The data keys themselves, to lend them to a worker that must not have the key-encryption key. */
  dataKeys(reference: StackReference, options?: CallOptions): Promise<readonly DataKey[]>;
}

export interface StoredKeysOptions {
  readonly storage: StorageBackend;
  /** Encrypts new data keys. */
  readonly current: KeyEncryptionKey;
  /** Former ones, by which data keys may still be encrypted. */
  readonly former?: readonly KeyEncryptionKey[];
  /** @default random bytes of the operating system */
  readonly random?: (bytes: number) => Uint8Array;
}

/** {@link StoredKeys} over a store. Each `load` reads anew, so that a rotation elsewhere is seen. */
export function createStoredKeys(options: StoredKeysOptions): StoredKeys {
  return new Keys(options);
}

/** A source with fixed data keys per stack, for a worker that was lent them. */
export function lentKeys(keys: (reference: StackReference) => readonly DataKey[]): CipherSource {
  const load = (reference: StackReference): StackCipher | undefined => cipherOf(keys(reference));
  return {
    load: async (reference) => load(reference),
    ensure: async (reference) => {
      const cipher = load(reference);
      if (cipher !== undefined) return cipher;
      throw new EngineError("ENGINE_KEY_UNAVAILABLE", "no data key was lent for the stack");
    },
  };
}

function cipherOf(
  keys: readonly DataKey[],
  random?: (bytes: number) => Uint8Array,
): StackCipher | undefined {
  const [first, ...rest] = keys;
  return first === undefined ? undefined : createStackCipher([first, ...rest], random);
}

class Keys implements StoredKeys {
  readonly #storage: StorageBackend;
  readonly #current: KeyEncryptionKey;
  readonly #wrapping: ReadonlyMap<string, Uint8Array>;
  readonly #random: (bytes: number) => Uint8Array;

  constructor({ storage, current, former = [], random = randomBytes }: StoredKeysOptions) {
    this.#storage = storage;
    this.#current = current;
    this.#wrapping = new Map([...former, current].map(({ id, bytes }) => [id, bytes]));
    this.#random = random;
  }

  async load(reference: StackReference, options?: CallOptions): Promise<StackCipher | undefined> {
    return cipherOf(await this.dataKeys(reference, options), this.#random);
  }

  async ensure(reference: StackReference, options?: CallOptions): Promise<StackCipher> {
    for (;;) {
      const cipher = await this.load(reference, options);
      if (cipher !== undefined) return cipher;
      await this.#change(reference, options, (keys) =>
        keys.length === 0 ? [this.#create(reference, 1)] : keys,
      );
    }
  }

  async dataKeys(reference: StackReference, options?: CallOptions): Promise<readonly DataKey[]> {
    const { keys } = await this.#stored(reference, options);
    return keys.map((key) => ({ number: key.number, bytes: this.#unwrap(reference, key) }));
  }

  async rotate(reference: StackReference, options?: CallOptions): Promise<void> {
    await this.#change(reference, options, (keys) => [
      ...keys,
      this.#create(reference, 1 + Math.max(0, ...keys.map(({ number }) => number))),
    ]);
  }

  async rewrap(reference: StackReference, options?: CallOptions): Promise<void> {
    await this.#change(reference, options, (keys) =>
      keys.map((key) => this.#wrap(reference, key.number, this.#unwrap(reference, key))),
    );
  }

  #create(reference: StackReference, number: number): StackKeys_DataKey {
    return this.#wrap(reference, number, this.#random(32));
  }

  #wrap(reference: StackReference, number: number, key: Uint8Array): StackKeys_DataKey {
    const context = keyContext(reference, number);
    const wrapped = wrapKey(this.#current.bytes, key, context, this.#random);
    return { number, wrappedBy: this.#current.id, wrapped };
  }

  #unwrap(
    reference: StackReference,
    { number, wrappedBy, wrapped }: StackKeys_DataKey,
  ): Uint8Array {
    const wrapping = this.#wrapping.get(wrappedBy);
    if (wrapping === undefined) {
      throw new EngineError(
        "ENGINE_KEY_UNAVAILABLE",
        `the secrets of the stack need the key-encryption key ${wrappedBy}, which was not given`,
      );
    }
    return unwrapKey(wrapping, wrapped, keyContext(reference, number));
  }

  async #stored(
    reference: StackReference,
    options?: CallOptions,
  ): Promise<{ readonly resource: Resource | undefined; readonly keys: StackKeys_DataKey[] }> {
    const id = stackResourceId(reference, STATE_KINDS.keys);
    const resource = await readStored(this.#storage, "strong", id, options);
    return { resource, keys: resource === undefined ? [] : decodeKind(resource, StackKeys).keys };
  }

  /** Replaces the keys by what a function makes of them, again and again until nobody else was faster. */
  async #change(
    reference: StackReference,
    options: CallOptions | undefined,
    change: (keys: readonly StackKeys_DataKey[]) => readonly StackKeys_DataKey[],
  ): Promise<void> {
    for (;;) {
      const { resource, keys } = await this.#stored(reference, options);
      const id = stackResourceId(reference, STATE_KINDS.keys);
      const message = StackKeys.create({ keys: [...change(keys)] });
      const token = Buffer.from(this.#random(16)).toString("hex");
      try {
        await this.#storage.writeCAS(
          {
            id: { ...id, uid: resource?.id.uid ?? token },
            version: resource?.version ?? "",
            generation: token,
            metadata: {},
            status: {},
            data: { typeUrl: typeUrl(id.type), value: StackKeys.encode(message).finish() },
          },
          options,
        );
        return;
      } catch (error) {
        if (!isStorageError(error, "STORAGE_CAS_FAILURE", "STORAGE_WRONG_UID")) throw error;
      }
    }
  }
}

function keyContext({ account, project, stack }: StackReference, number: number): string {
  return ["data key", account, project, stack, number].join("\0");
}

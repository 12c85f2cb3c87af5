import { randomBytes } from "node:crypto";
import { StackKeys, StackKeys_DataKey } from "@stackwright/proto/stackwright";
import {
  type CallOptions,
  isStorageError,
  type Resource,
  readStored,
  type StorageBackend,
} from "@stackwright/storage";
import { EngineError, isEngineError } from "../errors.ts";
import type { KeyEncryptionKey } from "../secrets/key-encryption.ts";
import {
  createStackCipher,
  type DataKey,
  type StackCipher,
  unwrapKey,
  wrapKey,
} from "../secrets/stack-cipher.ts";
import { decodeKind, typeUrl } from "./kinds.ts";
import type { StackReference } from "./stack-state.ts";
import { keysId } from "./variable-set-keys.ts";

/** The source of the data keys of stacks: a store, or a server that passes them to a remote worker. */
export interface CipherFactory {
  /** The cipher of a stack; `undefined` when it has no data keys, so that nothing of it can be encrypted. */
  load(reference: StackReference, options?: CallOptions): Promise<StackCipher | undefined>;
  /** The same; makes the first data key where there is none. `ENGINE_KEY_UNAVAILABLE` where it cannot. */
  ensure(reference: StackReference, options?: CallOptions): Promise<StackCipher>;
}

/** A data key as it is stored. */
export interface StoredKey {
  readonly number: number;
  /** Milliseconds since 1970; undefined where the release that created it did not record it. */
  readonly createdAtMs: number | undefined;
  /** The id of the key-encryption key that encrypts it. */
  readonly wrappedBy: string;
  /** It encrypts what is written from now on. */
  readonly isCurrent: boolean;
  /** One of the given key-encryption keys decrypts it. */
  readonly isReadable: boolean;
}

/** A cipher, and the data keys that have to be stored for it. */
interface KeptCipher {
  readonly cipher: StackCipher;
  readonly stored: StackKeys;
}

/** Data keys in the store, encrypted with key-encryption keys. */
export interface StoredKeys extends CipherFactory {
  /** The ids of the key-encryption keys that were given. */
  readonly keyIds: readonly string[];
  /** The data keys as stored, oldest first. Needs no key-encryption key. */
  list(reference: StackReference, options?: CallOptions): Promise<readonly StoredKey[]>;
  /**
   * Adds a data key, which encrypts from now on; what is encrypted with older ones stays readable. Resolves with its
   * number. `ENGINE_KEY_UNAVAILABLE` where an older one cannot be decrypted; nothing is changed then.
   */
  rotate(reference: StackReference, options?: CallOptions): Promise<number>;
  /**
   * Encrypts all data keys with the current key-encryption key, in one write. Resolves with the numbers of those that
   * another one encrypted; without any, nothing is written. `ENGINE_KEY_UNAVAILABLE` as for `rotate`.
   */
  rewrap(reference: StackReference, options?: CallOptions): Promise<readonly number[]>;
  /**
   * The cipher of data keys that the caller has read. Where there are none, `stored` has a first one, which the caller writes in one step with
   * what it encrypts; else it is what was given. `ENGINE_KEY_UNAVAILABLE`.
   */
  withFirst(reference: StackReference, stored: StackKeys): KeptCipher;
  /** The data keys themselves, for a worker that must not have the key-encryption key. */
  dataKeys(reference: StackReference, options?: CallOptions): Promise<readonly DataKey[]>;
}

interface StoredKeysOptions {
  readonly storage: StorageBackend;
  /** Encrypts new data keys. */
  readonly current: KeyEncryptionKey;
  /** Former ones, by which data keys may still be encrypted. */
  readonly former?: readonly KeyEncryptionKey[];
  /** @default random bytes of the operating system */
  readonly random?: (bytes: number) => Uint8Array;
  /** Milliseconds since 1970. @default the clock of the process */
  readonly wallMs?: () => number;
}

/**
 * {@link StoredKeys} over a store. Each `load` reads the store again, so that it sees a rotation by another process.
 */
export function createStoredKeys(options: StoredKeysOptions): StoredKeys {
  return new Keys(options);
}

/** A source with fixed data keys per stack, for a worker that received only these. */
export function delegatedKeys(
  keys: (reference: StackReference) => readonly DataKey[],
): CipherFactory {
  const load = (reference: StackReference): StackCipher | undefined => cipherOf(keys(reference));
  return {
    load: async (reference) => load(reference),
    ensure: async (reference) => {
      const cipher = load(reference);
      if (cipher !== undefined) return cipher;
      throw new EngineError("ENGINE_KEY_UNAVAILABLE", "no data key is available for the stack");
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
  readonly #wallMs: () => number;

  constructor(options: StoredKeysOptions) {
    const { storage, current, former = [], random = randomBytes, wallMs = Date.now } = options;
    this.#storage = storage;
    this.#current = current;
    this.#wrapping = new Map([...former, current].map(({ id, bytes }) => [id, bytes]));
    this.#random = random;
    this.#wallMs = wallMs;
  }

  get keyIds(): readonly string[] {
    return [...this.#wrapping.keys()];
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

  withFirst(reference: StackReference, stored: StackKeys): KeptCipher {
    const kept =
      stored.keys.length === 0 ? StackKeys.create({ keys: [this.#create(reference, 1)] }) : stored;
    const cipher = cipherOf(this.#unwrapAll(reference, kept.keys), this.#random);
    if (cipher === undefined) throw new TypeError("there is a data key");
    return { cipher, stored: kept };
  }

  async dataKeys(reference: StackReference, options?: CallOptions): Promise<readonly DataKey[]> {
    return this.#unwrapAll(reference, (await this.#stored(reference, options)).keys);
  }

  async list(reference: StackReference, options?: CallOptions): Promise<readonly StoredKey[]> {
    const { keys } = await this.#stored(reference, options);
    const newest = Math.max(...keys.map(({ number }) => number));
    return keys.map((key) => ({
      number: key.number,
      createdAtMs: key.createdAtMs === 0n ? undefined : Number(key.createdAtMs),
      wrappedBy: key.wrappedBy,
      isCurrent: key.number === newest,
      isReadable: this.#isReadable(reference, key),
    }));
  }

  async rotate(reference: StackReference, options?: CallOptions): Promise<number> {
    let number = 1;
    await this.#change(reference, options, (keys) => {
      this.#unwrapAll(reference, keys);
      number = 1 + Math.max(0, ...keys.map((key) => key.number));
      return [...keys, this.#create(reference, number)];
    });
    return number;
  }

  async rewrap(reference: StackReference, options?: CallOptions): Promise<readonly number[]> {
    let changed: readonly number[] = [];
    await this.#change(reference, options, (keys) => {
      const plain = new Map(
        this.#unwrapAll(reference, keys).map(({ number, bytes }) => [number, bytes]),
      );
      const former = keys.filter(({ wrappedBy }) => wrappedBy !== this.#current.id);
      changed = former.map(({ number }) => number);
      if (former.length === 0) return keys;
      return keys.map((key) => {
        const bytes = plain.get(key.number);
        return bytes === undefined || key.wrappedBy === this.#current.id
          ? key
          : { ...key, ...this.#wrap(reference, key.number, bytes) };
      });
    });
    return changed;
  }

  #create(reference: StackReference, number: number): StackKeys_DataKey {
    const wrapped = this.#wrap(reference, number, this.#random(32));
    const createdAtMs = BigInt(Math.floor(this.#wallMs()));
    return StackKeys_DataKey.create({ number, ...wrapped, createdAtMs });
  }

  #wrap(
    reference: StackReference,
    number: number,
    key: Uint8Array,
  ): Pick<StackKeys_DataKey, "wrappedBy" | "wrapped"> {
    const context = keyContext(reference, number);
    const wrapped = wrapKey(this.#current.bytes, key, context, this.#random);
    return { wrappedBy: this.#current.id, wrapped };
  }

  #isReadable(reference: StackReference, { number, wrappedBy, wrapped }: StackKeys_DataKey) {
    const wrapping = this.#wrapping.get(wrappedBy);
    if (wrapping === undefined) return false;
    try {
      unwrapKey(wrapping, wrapped, keyContext(reference, number));
      return true;
    } catch (error) {
      if (!isEngineError(error, "ENGINE_STATE_CORRUPT")) throw error;
      return false;
    }
  }

  /** All data keys; `ENGINE_KEY_UNAVAILABLE` names those that cannot be decrypted and what they need. */
  #unwrapAll(
    reference: StackReference,
    keys: readonly StackKeys_DataKey[],
  ): { readonly number: number; readonly bytes: Uint8Array }[] {
    const needed = new Map<string, number[]>();
    const plain = keys.flatMap(({ number, wrappedBy, wrapped }) => {
      const wrapping = this.#wrapping.get(wrappedBy);
      if (wrapping === undefined) {
        needed.set(wrappedBy, [...(needed.get(wrappedBy) ?? []), number]);
        return [];
      }
      return [{ number, bytes: unwrapKey(wrapping, wrapped, keyContext(reference, number)) }];
    });
    if (needed.size === 0) return plain;
    const parts = [...needed].map(
      ([id, numbers]) =>
        `${numbers.length === 1 ? "data key" : "data keys"} ${numbers.join(", ")} of the stack ${numbers.length === 1 ? "needs" : "need"} the key-encryption key ${id}, which was not given`,
    );
    throw new EngineError("ENGINE_KEY_UNAVAILABLE", parts.join("; "));
  }

  async #stored(
    reference: StackReference,
    options?: CallOptions,
  ): Promise<{ readonly resource: Resource | undefined; readonly keys: StackKeys_DataKey[] }> {
    const id = keysId(reference);
    const resource = await readStored(this.#storage, "strong", id, options);
    return { resource, keys: resource === undefined ? [] : decodeKind(resource, StackKeys).keys };
  }

  /** Replaces the keys by the result of a function, repeated until no other writer was faster. */
  async #change(
    reference: StackReference,
    options: CallOptions | undefined,
    change: (keys: readonly StackKeys_DataKey[]) => readonly StackKeys_DataKey[],
  ): Promise<void> {
    for (;;) {
      const { resource, keys } = await this.#stored(reference, options);
      const id = keysId(reference);
      const changed = change(keys);
      if (changed === keys) return;
      const message = StackKeys.create({ keys: [...changed] });
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

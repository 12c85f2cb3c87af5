import { StackKeys } from "@stackwright/proto/stackwright";
import {
  type CallOptions,
  type StorageBackend,
  type Tenancy,
  WILDCARD,
} from "@stackwright/storage";
import type { KeyEncryptionKey } from "../secrets/key-encryption.ts";
import { decodeKind, STATE_KINDS } from "./kinds.ts";
import { createStoredKeys } from "./stack-keys.ts";
import type { StackReference } from "./stack-state.ts";

/** What has data keys: a stack, or what a project or an account keeps secrets for beside stacks, such as its variable sets. */
export interface KeyOwner {
  readonly reference: StackReference;
  /** The id of the key-encryption key of each data key. */
  readonly wrappedBy: readonly string[];
}

/** What became of the data keys of a store. */
export interface RewrappedKeys {
  /** Data keys that another key-encryption key encrypted before. */
  readonly rewrapped: number;
  /** Data keys that are left with keys which were not given, by the ids of those. */
  readonly left: ReadonlyMap<string, number>;
}

const ANYWHERE: Tenancy = { partition: WILDCARD, peerName: WILDCARD, namespace: WILDCARD };

/** Everything with data keys, in a project or in all of a store. Needs no key-encryption key. */
export async function listKeyOwners(
  storage: StorageBackend,
  tenancy: Tenancy = ANYWHERE,
  options?: CallOptions,
): Promise<readonly KeyOwner[]> {
  const found = await storage.list("strong", STATE_KINDS.keys, tenancy, "", options);
  return found.map((resource) => {
    const { name, tenancy: place } = resource.id;
    const { keys } = decodeKind(resource, StackKeys);
    return {
      reference: { account: place.partition, project: place.namespace, stack: name },
      wrappedBy: keys.map(({ wrappedBy }) => wrappedBy),
    };
  });
}

/** How many data keys each key-encryption key encrypts, by its id. */
export function countWrapped(owners: readonly KeyOwner[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const id of owners.flatMap(({ wrappedBy }) => wrappedBy)) {
    counts.set(id, (counts.get(id) ?? 0) + 1);
  }
  return counts;
}

interface RewrapOptions extends CallOptions {
  readonly storage: StorageBackend;
  readonly current: KeyEncryptionKey;
  readonly former: readonly KeyEncryptionKey[];
  /** Runs when all data keys are known to be readable and none has changed yet. */
  readonly before?: () => Promise<void>;
}

/**
 * Encrypts the data keys of a whole store with the current key-encryption key. What has only data keys of keys that were not given is
 * left as it is: its keys are with the users of a command. All others are decrypted before the first is changed
 * (`ENGINE_KEY_UNAVAILABLE` where a key of one is missing), and the keys of each change in one write, so that an interruption is
 * completed by a repetition. Writers may be at work meanwhile.
 */
export async function rewrapAllKeys(options: RewrapOptions): Promise<RewrappedKeys> {
  const { storage, current, former, before, signal } = options;
  const during = signal === undefined ? {} : { signal };
  const given = new Set([current, ...former].map(({ id }) => id));
  const owners = (await listKeyOwners(storage, ANYWHERE, during)).filter(
    ({ wrappedBy }) =>
      wrappedBy.some((id) => given.has(id)) && wrappedBy.some((id) => id !== current.id),
  );
  const keys = createStoredKeys({ storage, current, former });
  for (const { reference } of owners) await keys.dataKeys(reference, during);
  await before?.();
  let rewrapped = 0;
  for (const { reference } of owners) {
    rewrapped += (await keys.rewrap(reference, during)).length;
  }
  const counts = countWrapped(await listKeyOwners(storage, ANYWHERE, during));
  return { rewrapped, left: new Map([...counts].filter(([id]) => !given.has(id))) };
}

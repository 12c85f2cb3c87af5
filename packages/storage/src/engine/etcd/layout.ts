import { crc32 } from "node:zlib";
import {
  filterKeyPrefix,
  KEY_SEPARATOR,
  lifetimeKey,
  type ResourceFilter,
  resourceKey,
} from "../../key.ts";
import type { ResourceId } from "../../resource.ts";

// Keys under the root:
//
//   epoch                 names this store, and where it is (`store-line.ts`)
//   history               how far the cluster was at some times (`history-marks.ts`)
//   r/<identity> NUL <uid>   a resource; its value is the resource without its version
//   o/<owner> NUL <key>      one per resource with an owner, without a value
//
// The uid is part of a resource's key. A name has at most one lifetime, so the compare of the mod
// revision of one key checks uid and version at once, and "nothing is stored" is a compare over the
// range of all lifetimes. Writes need no read before and no second key for the uid.
//
// Owner keys are written together with their resource, so none is ever missing. They are removed
// after the resource, or when a reader finds one without its resource: until then one too many is
// there, and readers compare with the resource itself.

/** A range of keys: from `key` up to but not including `rangeEnd`. */
export interface KeyRange {
  readonly key: Buffer;
  readonly rangeEnd: Buffer;
}

/** Keys of one store. */
export class Layout {
  readonly #root: string;
  readonly #salt: string;

  /** @param salt part of the checksums in versions (`store-line.ts`) */
  constructor(root: string, salt = "") {
    this.#root = root;
    this.#salt = salt;
  }

  get epochKey(): Buffer {
    return Buffer.from(`${this.#root}epoch`);
  }

  get historyKey(): Buffer {
    return Buffer.from(`${this.#root}history`);
  }

  /** All resources. */
  get resources(): KeyRange {
    return prefixRange(`${this.#root}r/`);
  }

  /** All entries of owners. */
  get owners(): KeyRange {
    return prefixRange(`${this.#root}o/`);
  }

  resource(id: ResourceId): Buffer {
    return Buffer.from(`${this.#root}r/${lifetimeKey(id)}`);
  }

  /** All lifetimes of a name. */
  lifetimes(id: ResourceId): KeyRange {
    return prefixRange(`${this.#root}r/${resourceKey(id)}${KEY_SEPARATOR}`);
  }

  /** The resources that a filter may select: those up to its first wildcard. */
  candidates(filter: ResourceFilter): KeyRange {
    return prefixRange(`${this.#root}r/${filterKeyPrefix(filter)}`);
  }

  /** The first key of resources at or behind an identity. */
  atIdentity(identity: string): Buffer {
    return Buffer.from(`${this.#root}r/${identity}`);
  }

  /** Identity and uid of a resource's key, NUL-separated. */
  identity(key: Uint8Array): string {
    return Buffer.from(key)
      .toString("utf8")
      .slice(this.#root.length + 2);
  }

  /**
   * The version of a resource: the revision of its last write, and a checksum of its name. etcd gives
   * all writes of a transaction one revision; the checksum keeps their versions apart.
   */
  version(id: ResourceId, modRevision: bigint): string {
    return this.#formatVersion(resourceKey(id), modRevision);
  }

  /** The version of a resource by its key. */
  versionOf(kv: { readonly key: Uint8Array; readonly modRevision: bigint }): string {
    const identity = this.identity(kv.key);
    return this.#formatVersion(
      identity.slice(0, identity.lastIndexOf(KEY_SEPARATOR)),
      kv.modRevision,
    );
  }

  /** The mod revision that a version of a resource stands for, or `undefined` if it is none. */
  modRevision(id: ResourceId, version: string): bigint | undefined {
    const digits = /^([1-9]\d{0,17})-/.exec(version)?.[1];
    if (digits === undefined) return undefined;
    const modRevision = BigInt(digits);
    return this.version(id, modRevision) === version ? modRevision : undefined;
  }

  ownerEntry(owner: ResourceId, id: ResourceId): Buffer {
    return Buffer.from(`${this.#root}o/${lifetimeKey(owner)}${KEY_SEPARATOR}${lifetimeKey(id)}`);
  }

  /** The entries of what an owner owns. */
  owned(owner: ResourceId): KeyRange {
    return prefixRange(`${this.#root}o/${lifetimeKey(owner)}${KEY_SEPARATOR}`);
  }

  /** The resource that an owner entry stands for. */
  ownedResource(owner: ResourceId, entry: Uint8Array): Buffer {
    const skip = this.owned(owner).key.length;
    return Buffer.concat([Buffer.from(`${this.#root}r/`), Buffer.from(entry).subarray(skip)]);
  }

  #formatVersion(key: string, modRevision: bigint): string {
    return `${modRevision}-${crc32(this.#salt + key).toString(36)}`;
  }
}

/** The first key behind another. */
export function keyAfter(key: Uint8Array): Buffer {
  return Buffer.concat([key, Buffer.from([0])]);
}

function prefixRange(prefix: string): KeyRange {
  const key = Buffer.from(prefix);
  const rangeEnd = Buffer.from(key);
  // No UTF-8 text has a byte 0xff, so the last byte can always be raised.
  rangeEnd[rangeEnd.length - 1] = (rangeEnd.at(-1) ?? 0) + 1;
  return { key, rangeEnd };
}

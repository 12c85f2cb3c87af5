import { StorageError } from "../errors.ts";
import type { Resource, ResourceId, UnversionedType } from "../resource.ts";
import type { CallOptions, StorageBackend } from "../types.ts";
import type { BlobGcResult, BlobStore } from "./types.ts";

/** A kind of resource and the blobs that one of it refers to. */
export interface BlobReferenceKind {
  readonly type: UnversionedType;
  /** Returns the digests of the blobs that a resource needs. A kind without this function refers to none. */
  readonly blobs?: (resource: Resource) => Iterable<string>;
}

const DIGEST = /^[0-9a-f]{64}$/;

/** Options of {@link collectUnreferenced}. */
export interface CollectUnreferencedOptions extends CallOptions {
  readonly storage: StorageBackend;
  readonly blobs: BlobStore;
  /** All kinds that are known. */
  readonly kinds: readonly BlobReferenceKind[];
  /** As of `BlobGcOptions`. @default false */
  readonly dryRun?: boolean | undefined;
  /**
   * Receives each resource that is damaged, and why: what it refers to is not known, so all blobs stay then, and only what interrupted writers left
   * is removed. Without it the first one ends the call with `STORAGE_CORRUPT`, or with the error of its kind.
   */
  readonly onDamaged?: ((id: ResourceId, reason: string) => void) | undefined;
}

/**
 * Removes the blobs that no resource of a store refers to. Every resource counts, also one of a kind that is
 * not declared: in a group with declared kinds it belongs to a newer release, and nothing is removed
 * (`STORAGE_SCHEMA`). In all other resources every text of 64 hexadecimal digits counts as a reference.
 *
 * Safe beside writers: the references are of one point in time after the collection has begun, and what was
 * written or found meanwhile is held. Rejects with `STORAGE_UNSUPPORTED` where blobs or snapshots are on
 * a server, which collects for itself.
 */
export async function collectUnreferenced(
  options: CollectUnreferencedOptions,
): Promise<BlobGcResult> {
  const { storage, blobs, kinds, signal, dryRun, onDamaged } = options;
  const callOptions = signal === undefined ? {} : { signal };
  const declared = new Map(kinds.map((kind) => [nameOf(kind.type), kind]));
  const groups = new Set(kinds.map((kind) => kind.type.group));
  return blobs.collect({
    ...callOptions,
    dryRun,
    references: async function* () {
      let isDamaged = false;
      const note =
        onDamaged &&
        ((id: ResourceId, reason: string): void => {
          isDamaged = true;
          onDamaged(id, reason);
        });
      await using snapshot = await storage.snapshot({
        ...callOptions,
        ...(note && { onDamaged: ({ id, reason }) => note(id, reason) }),
      });
      for await (const resource of snapshot) {
        const { type } = resource.id;
        const kind = declared.get(nameOf(type));
        if (kind !== undefined) yield* referencesOf(kind, resource, note);
        else if (groups.has(type.group)) throw undeclared(type);
        else yield* digestsIn(resource.data?.value);
      }
      if (isDamaged) for await (const { sha256 } of blobs.list(callOptions)) yield sha256;
    },
  });
}

function referencesOf(
  { blobs }: BlobReferenceKind,
  resource: Resource,
  onDamaged: ((id: ResourceId, reason: string) => void) | undefined,
): readonly string[] {
  if (blobs === undefined) return [];
  try {
    const digests = [...blobs(resource)];
    if (onDamaged === undefined || digests.every((digest) => DIGEST.test(digest))) return digests;
    onDamaged(resource.id, "it refers to a blob by what is not a digest");
    return digests.filter((digest) => DIGEST.test(digest));
  } catch (error) {
    if (onDamaged === undefined) throw error;
    onDamaged(resource.id, error instanceof Error ? error.message : String(error));
    return [];
  }
}

function nameOf({ group, kind }: UnversionedType): string {
  return `${group}\0${kind}`;
}

function undeclared({ group, kind }: UnversionedType): StorageError {
  return new StorageError(
    "STORAGE_SCHEMA",
    `no blobs are collected: the store holds resources of ${group} ${kind}, which this release does not ` +
      "know; collect with the newest release that uses the store",
  );
}

/** Every run of exactly 64 hexadecimal digits in some bytes. */
function digestsIn(bytes: Uint8Array | undefined): readonly string[] {
  if (bytes === undefined) return [];
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("latin1");
  return Array.from(text.matchAll(/(?<![0-9a-f])[0-9a-f]{64}(?![0-9a-f])/g), ([digest]) => digest);
}

import { isStorageError, type Resource, type StorageBackend } from "@stackwright/storage";
import { STORE_BLOB_KINDS } from "../blob-collection.ts";
import { decodeRecord, type RecordKind } from "../domain/record-kind.ts";
import { RUN_KIND, STACK_HEAD_KIND, STACK_KIND } from "../domain/run-places.ts";
import { SERVER_KINDS } from "../domain/server-kinds.ts";

/** Records of each sort that are named. */
const MAX_NAMED = 20;

/** What a release cannot read in a store. */
interface RecordFindings {
  readonly records: number;
  /** Kinds that this release does not know, which a newer one has written, with how many records there are of each. */
  readonly unknownKinds: ReadonlyMap<string, number>;
  /** Records in a form that this release does not read. */
  readonly unreadable: { readonly count: number; readonly names: readonly string[] };
  /** Records whose stored content is not what was written. */
  readonly damaged: { readonly count: number; readonly names: readonly string[] };
}

/**
 * Reads all records of a store as this release does, and says what it cannot read: of kinds and forms that only a newer release has, and damaged ones.
 * Reads all resources once; others may write meanwhile.
 */
export async function examineRecords(
  storage: StorageBackend,
  signal: AbortSignal,
): Promise<RecordFindings> {
  const known = new Map(STORE_BLOB_KINDS.map((kind) => [kind.type.kind, kind]));
  const kinds = [...Object.values(SERVER_KINDS), RUN_KIND, STACK_KIND, STACK_HEAD_KIND];
  const served = new Map(
    kinds.map((kind) => [kind.type.kind, kind as unknown as RecordKind<unknown>]),
  );
  let records = 0;
  const unknownKinds = new Map<string, number>();
  const unreadable = new NamedRecords();
  const damaged = new NamedRecords();
  await using snapshot = await storage.snapshot({
    signal,
    onDamaged: (one) => {
      records += 1;
      damaged.add(one);
    },
  });
  for await (const resource of snapshot) {
    signal.throwIfAborted();
    records += 1;
    const { type } = resource.id;
    const kind = known.get(type.kind);
    if (type.group !== OWN_GROUP) continue;
    if (kind === undefined) {
      unknownKinds.set(type.kind, (unknownKinds.get(type.kind) ?? 0) + 1);
      continue;
    }
    try {
      const own = served.get(type.kind);
      if (own !== undefined) decodeRecord(own, resource);
      for (const _digest of kind.blobs?.(resource) ?? []);
    } catch (error) {
      if (isStorageError(error, "STORAGE_INCONSISTENT")) throw error;
      unreadable.add(resource);
    }
  }
  return { records, unknownKinds, unreadable: unreadable.summary, damaged: damaged.summary };
}

const OWN_GROUP = "stackwright";

/** How many, and the names of the first. */
class NamedRecords {
  #count = 0;
  readonly #names: string[] = [];

  add({ id: { type, tenancy, name } }: Pick<Resource, "id">): void {
    this.#count += 1;
    if (this.#names.length >= MAX_NAMED) return;
    this.#names.push(`${type.kind} ${tenancy.partition}/${tenancy.namespace} ${name}`);
  }

  get summary() {
    return { count: this.#count, names: this.#names };
  }
}

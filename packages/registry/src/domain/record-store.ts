import {
  type BatchOperation,
  type CallOptions,
  type Resource,
  type ResourceId,
  type ResourceType,
  readStored,
  type StorageBackend,
  type Tenancy,
} from "@stackwright/storage";
import type { BlobReferenceKind } from "@stackwright/storage/blob";
import { RegistryError } from "../errors.ts";
import type { RegistryKind } from "./kind-table.ts";

/** A message type of `@stackwright/proto`. */
interface MessageCodec<T> {
  encode(message: T): { finish(): Uint8Array };
  decode(bytes: Uint8Array): T;
}

/** A kind of record: what it is called in the store, and how it is written. */
export interface RecordKind<T> {
  readonly type: ResourceType;
  readonly typeUrl: string;
  readonly codec: MessageCodec<T>;
}

const declared: BlobReferenceKind[] = [];

/**
 * All kinds of records, with the blobs that they refer to: to make a kind is to declare it. The entry of the package loads all of
 * them.
 */
export const RECORD_BLOB_KINDS: readonly BlobReferenceKind[] = declared;

/** A kind of `stackwright.v1` whose message has the kind's name; `blobs` gives the digests that one refers to. */
export function recordKind<T>(
  kind: RegistryKind,
  codec: MessageCodec<T>,
  message: string = kind,
  blobs?: (value: T) => Iterable<string>,
): RecordKind<T> {
  const made: RecordKind<T> = {
    type: Object.freeze({ group: "stackwright", groupVersion: "v1", kind }),
    typeUrl: `type.googleapis.com/stackwright.v1.${message}`,
    codec,
  };
  declared.push({
    type: made.type,
    ...(blobs === undefined
      ? {}
      : { blobs: (resource) => blobs(decodeRecord(made, resource).value) }),
  });
  return made;
}

/** A record as it is stored. */
export interface StoredRecord<T> {
  readonly value: T;
  readonly resource: Resource;
}

/** Receives each record that is left out as damaged, and why. */
export type OnDamagedRecord = (id: ResourceId, reason: string) => void;

/** Options of {@link RecordStore.list}. */
interface ListRecordsOptions extends CallOptions {
  /** Without it the first damaged record ends the call: what is left out would be taken for not stored. */
  readonly onDamaged?: OnDamagedRecord | undefined;
}

/** Names a record. */
export interface RecordName<T> {
  readonly kind: RecordKind<T>;
  readonly tenancy: Tenancy;
  readonly name: string;
}

/** Typed access to the records of the registry. All reads are linearizable. */
export class RecordStore {
  readonly storage: StorageBackend;

  constructor(storage: StorageBackend) {
    this.storage = storage;
  }

  async read<T>(at: RecordName<T>, options?: CallOptions): Promise<StoredRecord<T> | undefined> {
    const resource = await readStored(this.storage, "strong", idOf(at), options);
    return resource && decodeRecord(at.kind, resource);
  }

  /** The records whose names begin with a prefix, in no promised order. */
  async list<T>(
    kind: RecordKind<T>,
    tenancy: Tenancy,
    prefix: string,
    { signal, onDamaged }: ListRecordsOptions = {},
  ): Promise<readonly StoredRecord<T>[]> {
    if (onDamaged === undefined) {
      const found = await this.storage.list("strong", kind.type, tenancy, prefix, { signal });
      return found.map((resource) => decodeRecord(kind, resource));
    }
    const found = await this.storage.list("strong", kind.type, tenancy, prefix, {
      signal,
      onDamaged: ({ id, reason }) => onDamaged(id, reason),
    });
    return found.flatMap((resource) => {
      try {
        return [decodeRecord(kind, resource)];
      } catch (error) {
        onDamaged(resource.id, error instanceof Error ? error.message : String(error));
        return [];
      }
    });
  }

  /** Stores a value if nothing, or exactly `replaces`, is stored under the name. */
  async write<T>(
    at: RecordName<T>,
    value: T,
    replaces: StoredRecord<T> | undefined,
    options?: CallOptions,
  ): Promise<StoredRecord<T>> {
    const resource = await this.storage.writeCAS(resourceOf(at, value, replaces), options);
    return { value, resource };
  }
}

/** Creates a record, or replaces exactly the one that was read. */
export function writeOperation<T>(
  at: RecordName<T>,
  value: T,
  replaces?: StoredRecord<T>,
  uid?: string,
): BatchOperation {
  return { kind: "write", resource: resourceOf(at, value, replaces, uid) };
}

/** Deletes exactly the record that was read. */
export function deleteOperation(stored: StoredRecord<unknown>): BatchOperation {
  return { kind: "delete", id: stored.resource.id, version: stored.resource.version };
}

export function idOf<T>(at: RecordName<T>): ResourceId {
  return { uid: "", name: at.name, type: at.kind.type, tenancy: at.tenancy };
}

function decodeRecord<T>(kind: RecordKind<T>, resource: Resource): StoredRecord<T> {
  if (resource.data?.typeUrl !== kind.typeUrl) {
    throw new RegistryError(
      "REGISTRY_CORRUPT",
      `"${resource.id.name}" is stored without a ${kind.type.kind}`,
    );
  }
  return { value: kind.codec.decode(resource.data.value), resource };
}

/** Lifetimes of records are distinguished by their versions; records with ids use the ids. */
const SHARED_UID = "record";

function resourceOf<T>(
  at: RecordName<T>,
  value: T,
  replaces?: StoredRecord<T>,
  uid?: string,
): Resource {
  return {
    id: { ...idOf(at), uid: replaces?.resource.id.uid ?? uid ?? SHARED_UID },
    version: replaces?.resource.version ?? "",
    generation: "",
    metadata: {},
    status: {},
    data: { typeUrl: at.kind.typeUrl, value: at.kind.codec.encode(value).finish() },
  };
}

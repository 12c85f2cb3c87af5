import { Tombstone } from "@stackwright/proto/consul-resource";
import { idToMessage, messageToId } from "../codec.ts";
import { StorageError } from "../errors.ts";
import type { Resource, ResourceId, ResourceType } from "../resource.ts";

/** Type of the promise to delete what a deleted resource owned. */
export const TOMBSTONE_TYPE: ResourceType = Object.freeze({
  group: "internal",
  groupVersion: "v1",
  kind: "Tombstone",
});

/** Type URL of a tombstone's payload. */
export const TOMBSTONE_URL = "type.googleapis.com/hashicorp.consul.resource.Tombstone";

/** Longest name that still fits into the name of a tombstone. */
export function longestName(nameBytes: number): number {
  const ULID_LENGTH = 26;
  return nameBytes - "tombstone--".length - ULID_LENGTH;
}

/** Whether an id names a tombstone. */
export function isTombstone(id: ResourceId): boolean {
  return id.type.group === TOMBSTONE_TYPE.group && id.type.kind === TOMBSTONE_TYPE.kind;
}

/**
 * The tombstone of a lifetime. Its name follows from the owner, so a second one collides with the
 * first, which is as good.
 */
export function tombstoneOf(owner: ResourceId, uid: string, generation: string): Resource {
  return {
    id: {
      uid,
      name: `tombstone-${owner.name}-${owner.uid.toLowerCase()}`,
      type: TOMBSTONE_TYPE,
      tenancy: owner.tenancy,
    },
    version: "",
    generation,
    metadata: {},
    status: {},
    data: {
      typeUrl: TOMBSTONE_URL,
      value: Tombstone.encode({ owner: idToMessage(owner) }).finish(),
    },
  };
}

/** Whose children a tombstone promises to delete. */
export function ownerOf(tombstone: Resource): ResourceId {
  if (tombstone.data?.typeUrl !== TOMBSTONE_URL) {
    throw new StorageError("STORAGE_CORRUPT", `"${tombstone.id.name}" is not a tombstone`);
  }
  return messageToId(Tombstone.decode(tombstone.data.value).owner);
}

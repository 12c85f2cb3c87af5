import { StorageError } from "../errors.ts";
import { freezeResource } from "../freeze.ts";
import { lifetimeKey } from "../key.ts";
import { refused } from "../preconditions.ts";
import { readStored } from "../read-stored.ts";
import type { Resource, ResourceId } from "../resource.ts";
import type { CallOptions } from "../types.ts";
import { checkCreation, checkUpdate, DELETION_TIMESTAMP, FINALIZERS } from "./deletion-marks.ts";
import type { PartialResourceId, ResourceInput } from "./inputs.ts";
import { checkReadId, readResource } from "./read-resource.ts";
import { retryOnConflict } from "./retry.ts";
import type { ServiceParts } from "./service-parts.ts";
import { statusesEqual } from "./status-equality.ts";
import { longestName } from "./tombstone.ts";

/** Runs the hooks of the type: defaults first, then what they have to satisfy. */
export function validateResource(parts: ServiceParts, input: ResourceInput): Resource {
  const id = checkReadId(parts, input.id);
  const { storage, types } = parts;
  const { typeUrl, mutate, validate } = types.resolve(id.type);
  if (Buffer.byteLength(id.name) > longestName(storage.capabilities.limits.nameBytes)) {
    throw invalid("resource.id.name", "is too long");
  }
  const resource = freezeResource({
    id,
    ...(input.owner === undefined ? {} : { owner: checkReadId(parts, input.owner) }),
    version: input.version ?? "",
    generation: "",
    metadata: input.metadata ?? {},
    status: input.status ?? {},
    ...(input.data === undefined ? {} : { data: input.data }),
  });
  if (typeUrl !== undefined && resource.data?.typeUrl !== typeUrl) {
    throw invalid("resource.data", `is not of type "${typeUrl}"`);
  }
  const mutated = mutate?.(resource) ?? resource;
  const settled = freezeResource({
    ...resource,
    metadata: mutated.metadata,
    ...(mutated.data === undefined ? {} : { data: mutated.data }),
  });
  const complaint = validate?.(settled);
  if (complaint !== undefined) throw invalid("resource.data", complaint);
  return settled;
}

/** Creates or replaces a resource; without a version it retries until no other writer was faster. */
export async function writeResource(
  parts: ServiceParts,
  input: ResourceInput,
  { signal }: CallOptions,
): Promise<Resource> {
  const resource = validateResource(parts, input);
  const cycle = (): Promise<Resource> => writeOnce(parts, resource, input.status !== undefined);
  signal?.throwIfAborted();
  return resource.version === "" ? retryOnConflict(parts.retry, cycle, signal) : cycle();
}

/** Reads, changes and writes a resource until no other writer was faster. */
export async function updateResource(
  parts: ServiceParts,
  id: PartialResourceId,
  change: (stored: Resource) => ResourceInput | undefined,
  { signal }: CallOptions,
): Promise<Resource> {
  const full = checkReadId(parts, id);
  return retryOnConflict(
    parts.retry,
    async () => {
      const stored = await readResource(parts, full, { consistency: "strong", signal });
      const next = change(stored);
      if (next === undefined) return stored;
      return writeResource(parts, { ...next, version: stored.version }, { signal });
    },
    signal,
  );
}

/**
 * One cycle. The stored resource is read cheaply: if that is stale, the store refuses the write. For
 * the same reason a version that the caller gave has to be the one that was read: a newer one would
 * let the statuses of the stale read pass as current.
 */
async function writeOnce(
  parts: ServiceParts,
  resource: Resource,
  statusGiven: boolean,
): Promise<Resource> {
  const stored = await readStored(parts.storage, "eventual", resource.id);
  const generation = parts.ulid();
  if (stored === undefined) {
    checkCreation(resource);
    if (Object.keys(resource.status).length > 0) throw statusRefused();
    const owner = await resolveOwner(parts, resource.owner);
    return parts.storage.writeCAS({
      ...resource,
      ...(owner === undefined ? {} : { owner }),
      id: { ...resource.id, uid: parts.ulid() },
      generation,
    });
  }
  if (resource.version !== "" && resource.version !== stored.version) {
    throw refused("STORAGE_CAS_FAILURE", resource.id, resource.version);
  }
  if (statusGiven && !statusesEqual(resource.status, stored.status)) throw statusRefused();
  checkOwner(resource.owner, stored.owner);
  const next: Resource = {
    ...resource,
    id: { ...resource.id, uid: stored.id.uid },
    ...(stored.owner === undefined ? {} : { owner: stored.owner }),
    version: stored.version,
    generation,
    metadata: resource.version === "" ? carryMarks(stored, resource) : resource.metadata,
    status: stored.status,
  };
  checkUpdate(stored, next);
  return parts.storage.writeCAS(next);
}

/** A write that names no version cannot know of marks; it keeps those that it does not mention. */
function carryMarks(stored: Resource, next: Resource): Resource["metadata"] {
  const metadata = { ...next.metadata };
  for (const key of [DELETION_TIMESTAMP, FINALIZERS]) {
    const value = stored.metadata[key];
    if (value !== undefined && !Object.hasOwn(metadata, key)) metadata[key] = value;
  }
  return metadata;
}

async function resolveOwner(
  { storage }: ServiceParts,
  owner: ResourceId | undefined,
): Promise<ResourceId | undefined> {
  if (owner === undefined || owner.uid !== "") return owner;
  const stored = await readStored(storage, "strong", owner);
  if (stored === undefined) throw invalid("resource.owner", "does not exist");
  return { ...owner, uid: stored.id.uid };
}

/** An owner is set on creation. A write may repeat it, with or without its uid. */
function checkOwner(given: ResourceId | undefined, stored: ResourceId | undefined): void {
  if (given === undefined) return;
  if (stored !== undefined) {
    const uid = given.uid === "" ? stored.uid : given.uid;
    if (lifetimeKey({ ...given, uid }) === lifetimeKey(stored)) return;
  }
  throw invalid("resource.owner", "cannot be changed");
}

function statusRefused(): StorageError {
  return invalid("resource.status", "is written by writeStatus only");
}

function invalid(field: string, what: string): StorageError {
  return new StorageError("STORAGE_INVALID_ARGUMENT", `${field} ${what}`, { details: { field } });
}

import type {
  Resource,
  ResourceData,
  ResourceId,
  ResourceReference,
  ResourceType,
  Status,
  StatusCondition,
  Tenancy,
} from "./resource.ts";

// Ownership of objects: what enters the store is copied field by field and frozen, so that a caller
// who mutates its argument later changes nothing. What leaves the store is the frozen object itself;
// only bytes, which cannot be frozen, are copied again.

/**
 * A frozen copy of a resource that shares nothing with the original, with the given version. `freeze`
 * freezes its ids, for stores that let equal parts of them be one object.
 */
export function freezeResource(
  resource: Resource,
  version: string = resource.version,
  freeze: (id: ResourceId) => ResourceId = freezeId,
): Resource {
  return Object.freeze({
    id: freeze(resource.id),
    ...(resource.owner === undefined ? {} : { owner: freeze(resource.owner) }),
    version,
    generation: resource.generation,
    metadata: copyRecord(resource.metadata, (value) => value),
    status: copyRecord(resource.status, freezeStatus),
    ...(resource.data === undefined ? {} : { data: freezeData(resource.data) }),
  });
}

/** The same frozen resource under another version; the parts are shared. */
export function withVersion(resource: Resource, version: string): Resource {
  return Object.freeze({ ...resource, version });
}

/** What a caller gets of a stored, frozen resource: the parts are shared, the bytes are a copy. */
export function toReadonlyResource(stored: Resource): Resource {
  if (stored.data === undefined) return stored;
  return Object.freeze({ ...stored, data: freezeData(stored.data) });
}

/** A frozen copy of an id. */
export function freezeId(id: ResourceId): ResourceId {
  return Object.freeze({
    uid: id.uid,
    name: id.name,
    type: freezeType(id.type),
    tenancy: freezeTenancy(id.tenancy),
  });
}

function freezeType(type: ResourceType): ResourceType {
  return Object.freeze({ group: type.group, groupVersion: type.groupVersion, kind: type.kind });
}

function freezeTenancy(tenancy: Tenancy): Tenancy {
  return Object.freeze({
    partition: tenancy.partition,
    peerName: tenancy.peerName,
    namespace: tenancy.namespace,
  });
}

function freezeStatus(status: Status): Status {
  return Object.freeze({
    observedGeneration: status.observedGeneration,
    conditions: Object.freeze(status.conditions.map(freezeCondition)),
    ...(status.updatedAt === undefined
      ? {}
      : {
          updatedAt: Object.freeze({
            seconds: status.updatedAt.seconds,
            nanos: status.updatedAt.nanos,
          }),
        }),
  });
}

function freezeCondition(condition: StatusCondition): StatusCondition {
  return Object.freeze({
    type: condition.type,
    state: condition.state,
    reason: condition.reason,
    message: condition.message,
    ...(condition.resource === undefined ? {} : { resource: freezeReference(condition.resource) }),
  });
}

function freezeReference(reference: ResourceReference): ResourceReference {
  return Object.freeze({
    type: freezeType(reference.type),
    tenancy: freezeTenancy(reference.tenancy),
    name: reference.name,
    section: reference.section,
  });
}

function freezeData(data: ResourceData): ResourceData {
  // A plain copy also of a Buffer, whose slice() would share the bytes.
  return Object.freeze({ typeUrl: data.typeUrl, value: new Uint8Array(data.value) });
}

/** All empty records are one object; most resources have two of them. */
const EMPTY = Object.freeze({});

/** A frozen copy of own entries; keys such as `__proto__` stay ordinary keys. */
function copyRecord<T>(
  record: Readonly<Record<string, T>>,
  copy: (value: T) => T,
): Readonly<Record<string, T>> {
  const entries = Object.entries(record);
  if (entries.length === 0) return EMPTY;
  return Object.freeze(Object.fromEntries(entries.map(([key, value]) => [key, copy(value)])));
}

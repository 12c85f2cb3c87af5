import {
  type Resource,
  type ResourceId,
  type Tenancy,
  type UnversionedType,
  WILDCARD,
} from "./resource.ts";

// A key is the six identity fields, each but the last ended by NUL, which no field may contain:
// without a separator ("ab","c") and ("a","bc") would be one key. Neither the group version nor the
// uid is part of it.

/** Separates the fields of a key. */
export const KEY_SEPARATOR = "\0";

/** What selects a tenancy unit and type: the key without the name. */
export function scopeKey(type: UnversionedType, tenancy: Tenancy): string {
  return `${type.group}\0${type.kind}\0${tenancy.partition}\0${tenancy.peerName}\0${tenancy.namespace}\0`;
}

/** The identity of a resource as one string; equal for equal identities only. */
export function resourceKey(id: Pick<ResourceId, "name" | "type" | "tenancy">): string {
  return scopeKey(id.type, id.tenancy) + id.name;
}

/** The identity of one lifetime of a resource as one string: what owner references point at. */
export function lifetimeKey(id: ResourceId): string {
  return `${resourceKey(id)}\0${id.uid}`;
}

/** What `list` and `watchList` select. */
export interface ResourceFilter {
  readonly type: UnversionedType;
  readonly tenancy: Tenancy;
  readonly namePrefix: string;
}

/** Whether a filter selects a resource. */
export function filterMatches(filter: ResourceFilter, resource: Pick<Resource, "id">): boolean {
  const { type, tenancy, name } = resource.id;
  return (
    filter.type.group === type.group &&
    filter.type.kind === type.kind &&
    tenancyMatches(filter.tenancy, tenancy) &&
    name.startsWith(filter.namePrefix)
  );
}

/** Whether a tenancy with wildcards selects a tenancy without. */
export function tenancyMatches(pattern: Tenancy, tenancy: Tenancy): boolean {
  return (
    fieldMatches(pattern.partition, tenancy.partition) &&
    fieldMatches(pattern.peerName, tenancy.peerName) &&
    fieldMatches(pattern.namespace, tenancy.namespace)
  );
}

/**
 * The longest prefix that all keys selected by a filter share: up to the first wildcard, and with
 * the name prefix if there is none.
 */
export function filterKeyPrefix(filter: ResourceFilter): string {
  let prefix = `${filter.type.group}\0${filter.type.kind}\0`;
  const { partition, peerName, namespace } = filter.tenancy;
  for (const field of [partition, peerName, namespace]) {
    if (field === WILDCARD) return prefix;
    prefix += `${field}\0`;
  }
  return prefix + filter.namePrefix;
}

function fieldMatches(pattern: string, value: string): boolean {
  return pattern === WILDCARD || pattern === value;
}

import { filterKeyPrefix, KEY_SEPARATOR, type ResourceFilter, tenancyMatches } from "./key.ts";
import { type Tenancy, WILDCARD } from "./resource.ts";

// Walks an ordered index of keys for a filter by seeking. A scan starts at the longest prefix that
// all matches share, and leaves a tenancy unit as soon as it is over or is not selected. It visits
// the matches and at most two other keys per tenancy unit of the type, regardless of what else is stored.

/** A key, with what a scan needs of its parts. */
export interface ScannedKey {
  readonly key: string;
  readonly tenancy: Tenancy;
  readonly name: string;
}

/** What to do with a scanned key: take it, or continue at the first key >= `jump`. */
export type ScanStep = "take" | { readonly jump: string };

/** Where a scan for a filter starts; it ends at the first key that does not start with this. */
export function scanStart(filter: ResourceFilter): string {
  return filterKeyPrefix(filter);
}

/** Whether every key that starts with {@link scanStart} is a match: there is no wildcard. */
export function scanIsExact({ tenancy }: ResourceFilter): boolean {
  const { partition, peerName, namespace } = tenancy;
  return partition !== WILDCARD && peerName !== WILDCARD && namespace !== WILDCARD;
}

/**
 * Decides about one key of the index. `isBefore` is the order of the index's texts; it has to agree
 * with the order of the UTF-16 or the UTF-8 forms.
 */
export function scanStep(
  filter: ResourceFilter,
  key: ScannedKey,
  isBefore: (left: string, right: string) => boolean,
): ScanStep {
  const { tenancy, name } = key;
  const selected = tenancyMatches(filter.tenancy, tenancy);
  if (selected && name.startsWith(filter.namePrefix)) return "take";
  const scope = key.key.slice(0, key.key.length - name.length);
  if (selected && isBefore(name, filter.namePrefix)) return { jump: scope + filter.namePrefix };
  // The separator's successor: behind every name of this tenancy unit, before the next unit.
  return { jump: `${scope.slice(0, -KEY_SEPARATOR.length)}\u0001` };
}

/** Takes a key apart. */
export function splitKey(key: string): ScannedKey {
  const [, , partition = "", peerName = "", namespace = "", name = ""] = key.split(KEY_SEPARATOR);
  return { key, tenancy: { partition, peerName, namespace }, name };
}

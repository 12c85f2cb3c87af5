import { filterKeyPrefix, KEY_SEPARATOR, type ResourceFilter, tenancyMatches } from "./key.ts";
import type { Tenancy } from "./resource.ts";

// Walks an ordered index of keys for a filter by seeking. A scan starts at the longest prefix that
// all matches share, and leaves a tenancy unit as soon as it is over or is not selected. It visits
// the matches and at most two other keys per tenancy unit of the type, whatever else is stored.

/** A key taken apart, as far as a scan needs it. */
export interface ScannedKey {
  /** The key up to and with the separator before the name. */
  readonly scope: string;
  readonly tenancy: Tenancy;
  readonly name: string;
}

/** What to do with a scanned key: take it, or go on at the first key >= `jump`. */
export type ScanStep = "take" | { readonly jump: string };

/** Where a scan for a filter starts; it ends at the first key that does not start with this. */
export function scanStart(filter: ResourceFilter): string {
  return filterKeyPrefix(filter);
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
  if (tenancyMatches(filter.tenancy, key.tenancy)) {
    if (key.name.startsWith(filter.namePrefix)) return "take";
    if (isBefore(key.name, filter.namePrefix)) return { jump: key.scope + filter.namePrefix };
  }
  // The separator's successor: behind every name of this tenancy unit, before the next unit.
  return { jump: `${key.scope.slice(0, -KEY_SEPARATOR.length)}\u0001` };
}

/** Takes a key apart. */
export function splitKey(key: string): ScannedKey {
  const [group = "", kind = "", partition = "", peerName = "", namespace = "", name = ""] =
    key.split(KEY_SEPARATOR);
  const scope = [group, kind, partition, peerName, namespace, ""].join(KEY_SEPARATOR);
  return { scope, tenancy: { partition, peerName, namespace }, name };
}

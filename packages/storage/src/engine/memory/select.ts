import { filterKeyPrefix, type ResourceFilter, scopeKey, tenancyMatches } from "../../key.ts";
import type { Resource } from "../../resource.ts";
import type { OrderedMap } from "./ordered-map.ts";

/**
 * The resources that a filter selects, in key order.
 *
 * Seeks instead of filtering: the scan starts at the longest prefix that all matches share, and
 * leaves a tenancy unit as soon as it is over or is not selected. So it visits the matches and at
 * most two other resources per tenancy unit of the type, whatever else is stored.
 */
export function* selectResources(
  resources: OrderedMap<Resource>,
  filter: ResourceFilter,
): Generator<Resource> {
  const prefix = filterKeyPrefix(filter);
  const { namePrefix } = filter;
  let from: string | undefined = prefix;
  while (from !== undefined) {
    let jump: string | undefined;
    for (const [key, resource] of resources.entriesFrom(from)) {
      if (!key.startsWith(prefix)) return;
      const { name, tenancy, type } = resource.id;
      if (tenancyMatches(filter.tenancy, tenancy)) {
        if (name.startsWith(namePrefix)) {
          yield resource;
          continue;
        }
        if (name < namePrefix) {
          jump = scopeKey(type, tenancy) + namePrefix;
          break;
        }
      }
      // The separator's successor: behind every name of this tenancy unit, before the next unit.
      jump = `${scopeKey(type, tenancy).slice(0, -1)}\u0001`;
      break;
    }
    from = jump;
  }
}

import type { ResourceFilter } from "../../key.ts";
import type { Resource } from "../../resource.ts";
import { scanIsExact, scanStart, scanStep } from "../../scan.ts";
import type { OrderedMap } from "./ordered-map.ts";

/** The resources that a filter selects, in key order; with `behind` those whose keys come after it. */
export function* selectResources(
  resources: OrderedMap<Resource>,
  filter: ResourceFilter,
  behind?: string,
): Generator<Resource> {
  const prefix = scanStart(filter);
  const exact = scanIsExact(filter);
  let from: string | undefined = prefix;
  if (behind !== undefined && behind >= prefix) from = `${behind}\0`;
  while (from !== undefined) {
    let jump: string | undefined;
    for (const [key, resource] of resources.entriesFrom(from)) {
      if (!key.startsWith(prefix)) return;
      if (exact) {
        yield resource;
        continue;
      }
      const { name, tenancy } = resource.id;
      const step = scanStep(filter, { key, tenancy, name }, isBefore);
      if (step === "take") {
        yield resource;
      } else {
        jump = step.jump;
        break;
      }
    }
    from = jump;
  }
}

function isBefore(left: string, right: string): boolean {
  return left < right;
}

import { OrderedMap } from "../engine/memory/ordered-map.ts";
import { selectResources } from "../engine/memory/select.ts";
import { filterMatches, type ResourceFilter, resourceKey } from "../key.ts";
import type { Resource, ResourceId } from "../resource.ts";
import { LARGE_ID_BYTES, residentBytes } from "./resident-bytes.ts";

/** What is known of a name: a resource, that there is none, or that the engine has it. */
type Known = Resource | "nothing" | "in the engine";

/** The resources of one type, as far as they are not too large one by one. */
export class TypeContent {
  readonly #resourceBytes: number;
  readonly #resources = new OrderedMap<Resource>();
  /** Those that stay in the engine. */
  readonly #large = new Map<string, ResourceId>();
  #bytes = 0;

  /** `resourceBytes` is the most that a resource in memory takes. */
  constructor(resourceBytes: number) {
    this.#resourceBytes = resourceBytes;
  }

  /** Roughly what all of it takes. */
  get bytes(): number {
    return this.#bytes;
  }

  get size(): number {
    return this.#resources.size + this.#large.size;
  }

  /** Takes a frozen resource in place of what has its name. */
  set(resource: Resource): void {
    const key = resourceKey(resource.id);
    this.#remove(key);
    const bytes = residentBytes(resource);
    if (bytes > this.#resourceBytes) {
      this.#large.set(key, resource.id);
      this.#bytes += LARGE_ID_BYTES;
    } else {
      this.#resources.set(key, resource);
      this.#bytes += bytes;
    }
  }

  delete({ id }: Resource): void {
    this.#remove(resourceKey(id));
  }

  get(key: string): Known {
    if (this.#large.has(key)) return "in the engine";
    return this.#resources.get(key) ?? "nothing";
  }

  /** Whether the engine has some of what a filter selects. */
  isPartFor(filter: ResourceFilter): boolean {
    for (const id of this.#large.values()) if (filterMatches(filter, { id })) return true;
    return false;
  }

  /** What a filter selects; read in the same turn. */
  select(filter: ResourceFilter): Generator<Resource> {
    return selectResources(this.#resources, filter);
  }

  /** What a filter selects, as it is now: later changes do not show. */
  snapshot(filter: ResourceFilter): Generator<Resource> {
    return selectResources(this.#resources.snapshot(), filter);
  }

  #remove(key: string): void {
    const stored = this.#resources.get(key);
    if (stored !== undefined) {
      this.#resources.delete(key);
      this.#bytes -= residentBytes(stored);
    } else if (this.#large.delete(key)) {
      this.#bytes -= LARGE_ID_BYTES;
    }
  }
}

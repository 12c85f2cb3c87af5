import { lifetimeKey, type ResourceFilter, resourceKey } from "../../key.ts";
import type { Resource, ResourceId } from "../../resource.ts";
import { OrderedMap } from "./ordered-map.ts";
import { selectResources } from "./select.ts";

/** Everything that the memory engine stores, by identity and by owner. Resources are frozen. */
export class ResourceIndex {
  readonly #resources = new OrderedMap<Resource>();
  /** Keys of the owned resources by the lifetime that owns them. */
  readonly #owned = new Map<string, Map<string, Resource>>();

  get size(): number {
    return this.#resources.size;
  }

  get(key: string): Resource | undefined {
    return this.#resources.get(key);
  }

  /** Stores a resource under its key in place of `replaced`. */
  set(key: string, resource: Resource, replaced: Resource | undefined): void {
    this.#resources.set(key, resource);
    if (replaced?.owner !== undefined) this.#disown(key, replaced.owner);
    if (resource.owner === undefined) return;
    const owner = lifetimeKey(resource.owner);
    const owned = this.#owned.get(owner);
    if (owned === undefined) this.#owned.set(owner, new Map([[key, resource]]));
    else owned.set(key, resource);
  }

  /** Removes what is stored under a key. */
  delete(key: string, stored: Resource): void {
    this.#resources.delete(key);
    if (stored.owner !== undefined) this.#disown(key, stored.owner);
  }

  /** The resources that a filter selects, as they are now. */
  select(filter: ResourceFilter): Resource[] {
    return [...selectResources(this.#resources, filter)];
  }

  /** The resources whose owner is this lifetime. */
  ownedBy(owner: ResourceId): Resource[] {
    return [...(this.#owned.get(lifetimeKey(owner))?.values() ?? [])];
  }

  /** The resources as they are now, unaffected by later changes; in constant time. */
  snapshot(): OrderedMap<Resource> {
    return this.#resources.snapshot();
  }

  #disown(key: string, owner: ResourceId): void {
    const lifetime = lifetimeKey(owner);
    const owned = this.#owned.get(lifetime);
    owned?.delete(key);
    if (owned?.size === 0) this.#owned.delete(lifetime);
  }
}

/** An index of the given resources, keyed by identity; a later one replaces an earlier one. */
export function indexResources(resources: Iterable<Resource>): ResourceIndex {
  const index = new ResourceIndex();
  for (const resource of resources) {
    const key = resourceKey(resource.id);
    index.set(key, resource, index.get(key));
  }
  return index;
}

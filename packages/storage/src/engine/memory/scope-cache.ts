import { freezeId } from "../../freeze.ts";
import { scopeKey } from "../../key.ts";
import type { ResourceId, ResourceType, Tenancy } from "../../resource.ts";

/** How many scopes are remembered before it starts again. */
const MOST_SCOPES = 4096;

interface Scope {
  readonly type: ResourceType;
  readonly tenancy: Tenancy;
}

/**
 * Lets resources of one type and tenancy share the objects that say so: most of a small resource
 * would otherwise be those.
 */
export class ScopeCache {
  readonly #scopes = new Map<string, Scope>();

  /** A frozen copy of an id. */
  freeze(id: ResourceId): ResourceId {
    const key = `${scopeKey(id.type, id.tenancy)}${id.type.groupVersion}`;
    let scope = this.#scopes.get(key);
    if (scope === undefined) {
      if (this.#scopes.size >= MOST_SCOPES) this.#scopes.clear();
      scope = freezeId(id);
      scope = { type: scope.type, tenancy: scope.tenancy };
      this.#scopes.set(key, scope);
    }
    return Object.freeze({
      uid: id.uid,
      name: id.name,
      type: scope.type,
      tenancy: scope.tenancy,
    });
  }
}

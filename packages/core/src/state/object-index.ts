import { type ObjectKey, objectKey, type StateObject } from "./state-object.ts";

/**
 * The objects of a stack with what finding their neighbours takes: by key, by former address, deposed ones by
 * address, dependents by the address that they name. Every change costs what the object's own edges cost.
 */
export class ObjectIndex {
  readonly #objects = new Map<string, StateObject>();
  /** Keys of the objects that name an address as an instance. */
  readonly #dependents = new Map<string, Set<string>>();
  /** Current addresses of objects by a former one. */
  readonly #aliases = new Map<string, Set<string>>();
  readonly #deposed = new Map<string, Set<string>>();

  constructor(objects: Iterable<StateObject> = []) {
    for (const object of objects) this.set(object, object);
  }

  get objects(): ReadonlyMap<string, StateObject> {
    return this.#objects;
  }

  get(key: ObjectKey): StateObject | undefined {
    return this.#objects.get(objectKey(key));
  }

  /** Sets the object of a key, or removes the one that the key has. */
  set(key: ObjectKey, object: StateObject | undefined): void {
    const name = objectKey(key);
    const before = this.#objects.get(name);
    if (before !== undefined) this.#unlink(name, before);
    if (object === undefined) {
      this.#objects.delete(name);
      return;
    }
    this.#objects.set(name, object);
    this.#link(name, object);
  }

  /** The current object that a dependency on an address means: the one there, else one that was there. */
  resolve(address: string): StateObject | undefined {
    const object = this.#objects.get(address);
    if (object !== undefined) return object;
    const [moved] = this.#aliases.get(address) ?? [];
    return moved === undefined ? undefined : this.#objects.get(moved);
  }

  /** The deposed objects of an address, by deposed key. */
  deposed(address: string): readonly StateObject[] {
    const keys = [...(this.#deposed.get(address) ?? [])].sort();
    return keys.flatMap((key) => this.#objects.get(key) ?? []);
  }

  /** The current objects that depend on this one, by an instance edge to its address or a former one of it. */
  *dependentsOf(object: StateObject): Generator<StateObject> {
    for (const address of [object.address, ...object.aliases]) {
      if (this.resolve(address) !== this.get(object)) continue;
      for (const key of this.#dependents.get(address) ?? []) {
        const dependent = this.#objects.get(key);
        if (dependent !== undefined) yield dependent;
      }
    }
  }

  #link(name: string, object: StateObject): void {
    if (object.deposed !== "") {
      add(this.#deposed, object.address, name);
      return;
    }
    for (const alias of object.aliases) add(this.#aliases, alias, name);
    for (const { address, scope } of object.dependencies) {
      if (scope === "instance") add(this.#dependents, address, name);
    }
  }

  #unlink(name: string, object: StateObject): void {
    if (object.deposed !== "") {
      remove(this.#deposed, object.address, name);
      return;
    }
    for (const alias of object.aliases) remove(this.#aliases, alias, name);
    for (const { address } of object.dependencies) remove(this.#dependents, address, name);
  }
}

function add(sets: Map<string, Set<string>>, key: string, member: string): void {
  const set = sets.get(key);
  if (set === undefined) sets.set(key, new Set([member]));
  else set.add(member);
}

function remove(sets: Map<string, Set<string>>, key: string, member: string): void {
  const set = sets.get(key);
  set?.delete(member);
  if (set?.size === 0) sets.delete(key);
}

/** Freezes plain data all the way down, so that a write throws where it happens. */
export class Freezer {
  readonly #done = new WeakSet();

  freeze<T>(value: T): T {
    this.#freeze(value);
    return value;
  }

  #freeze(value: unknown): void {
    if (typeof value !== "object" || value === null || this.#done.has(value)) return;
    this.#done.add(value);
    if (ArrayBuffer.isView(value)) return;
    const prototype: unknown = Object.getPrototypeOf(value);
    if (value instanceof Map || value instanceof Set) {
      guardMutators(value);
      for (const member of value.values()) this.#freeze(member);
      return;
    }
    const plain = prototype === Object.prototype || prototype === null || Array.isArray(value);
    // Instances of classes may have state of their own, which is not ours to freeze.
    if (!plain) return;
    Object.freeze(value);
    for (const name of Object.keys(value)) this.#freeze((value as Record<string, unknown>)[name]);
  }
}

/** `Object.freeze` leaves the contents of maps and sets open. */
function guardMutators(container: Map<unknown, unknown> | Set<unknown>): void {
  for (const name of ["set", "add", "delete", "clear"]) {
    if (!(name in container)) continue;
    Object.defineProperty(container, name, {
      value: () => {
        throw new TypeError(`Cannot assign to read only property '${name}()' of a collection`);
      },
    });
  }
}

/** The property that a write to a frozen object was about, or `undefined` for any other error. */
export function frozenProperty(error: unknown): string | undefined {
  if (!(error instanceof TypeError)) return undefined;
  const patterns = [
    /^Cannot assign to read only property '(.+)' of /,
    /^Cannot add property (.+), object is not extensible$/,
    /^Cannot delete property '(.+)' of /,
    /^Cannot redefine property: (.+)$/,
    /^Cannot define property (.+), object is not extensible$/,
  ];
  for (const pattern of patterns) {
    const found = pattern.exec(error.message)?.[1];
    if (found !== undefined) return found;
  }
  return undefined;
}

/** The first path in `value` that ends with `property`. */
export function pathTo(value: unknown, property: string): string | undefined {
  return search(value, property, "", new Set());
}

function search(
  value: unknown,
  property: string,
  path: string,
  seen: Set<unknown>,
): string | undefined {
  if (typeof value !== "object" || value === null || seen.has(value)) return undefined;
  seen.add(value);
  const names = Object.keys(value);
  const inner = (name: string) => (path === "" ? name : `${path}.${name}`);
  if (names.includes(property)) return inner(property);
  // An added element of an array is identified by its index.
  if (Array.isArray(value) && property === String(value.length)) return inner(property);
  for (const name of names) {
    const found = search((value as Record<string, unknown>)[name], property, inner(name), seen);
    if (found !== undefined) return found;
  }
  return undefined;
}

import type { Kind } from "../kind.ts";
import type { Row } from "./row.ts";

/**
 * Rows by namespace and name, for kinds whose key is made of both: the object that is written has both texts at hand, hashed already
 * or short, while its key has first to be put together and hashed.
 *
 * It only remembers what was found by key: a row that is not here may well be there. Rows without a value are of no use any more
 * (see `SourceNode`); they are swept out when they are the majority.
 */
export class NameTable<T> {
  readonly #nameOf: (object: T) => string;
  readonly #namespaceOf: ((object: T) => string | undefined) | undefined;
  readonly #namespaces = new Map<string, Map<string, Row<T>>>();
  /** The namespace that was asked for last, and its rows. */
  #namespace: string | undefined;
  #names: Map<string, Row<T>> | undefined;
  #size = 0;

  private constructor({ namespace }: Kind<T>, nameOf: (object: T) => string) {
    this.#nameOf = nameOf;
    this.#namespaceOf = namespace;
  }

  /** `undefined` for a kind with a key of its own. */
  static of<T>(kind: Kind<T>): NameTable<T> | undefined {
    return kind.keyIsName && kind.name !== undefined ? new NameTable(kind, kind.name) : undefined;
  }

  /** The row of an object with these names, if it is remembered and has a value. */
  find(object: T): Row<T> | undefined {
    const row = this.#at(this.#namespaceOf?.(object))?.get(this.#nameOf(object));
    return row?.value === undefined ? undefined : row;
  }

  /** Remembers the row of an object. `live` is the number of rows there are. */
  remember(object: T, row: Row<T>, live: number): void {
    const namespace = this.#namespaceOf?.(object) ?? "";
    let names = this.#at(namespace);
    if (names === undefined) {
      names = new Map();
      this.#namespaces.set(namespace, names);
      this.#names = names;
    }
    const name = this.#nameOf(object);
    if (!names.has(name)) this.#size++;
    names.set(name, row);
    // One row may stand under several pairs that make the same key, and is then counted as often.
    if (this.#size > 2 * live + 64) this.#sweep();
  }

  #at(namespace: string | undefined): Map<string, Row<T>> | undefined {
    const own = namespace ?? "";
    if (own === this.#namespace) return this.#names;
    this.#namespace = own;
    this.#names = this.#namespaces.get(own);
    return this.#names;
  }

  /** Forgets everything, where that is simpler than to tell what is of use. */
  #sweep(): void {
    this.#size = 0;
    for (const [namespace, names] of this.#namespaces) {
      for (const [name, row] of names) if (row.value === undefined) names.delete(name);
      if (names.size === 0) this.#namespaces.delete(namespace);
      this.#size += names.size;
    }
    this.#namespace = undefined;
    this.#names = undefined;
  }
}

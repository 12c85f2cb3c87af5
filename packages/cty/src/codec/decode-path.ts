import { CtyError } from "../errors.ts";
import { Path } from "../path/path.ts";
import type { ObjectType, Type } from "../type/type.ts";
import { Value } from "../value/value.ts";

/**
 * The position of a codec in a value. Steps are pushed before a part and popped behind it, so that after an error they
 * still show where it happened, and no path is built where no error occurs.
 */
export class DecodePath {
  readonly #steps: (number | string | Type)[] = [];
  readonly #kinds: Type["kind"][] = [];

  /** Goes to an element of a list or tuple, of a map, or of a set (whose elements have no address). */
  enter(type: Type, key: number | string): void {
    this.#kinds.push(type.kind);
    this.#steps.push(type.kind === "set" ? type.element : key);
  }

  /** Goes to another element of the same whole. */
  next(key: number | string): void {
    const last = this.#steps.length - 1;
    if (this.#kinds[last] !== "set") this.#steps[last] = key;
  }

  leave(): void {
    this.#steps.pop();
    this.#kinds.pop();
  }

  get path(): Path {
    let path = Path.root;
    for (const [i, step] of this.#steps.entries()) {
      if (typeof step === "object") path = path.index(Value.unknown(step));
      else if (typeof step === "string" && this.#kinds[i] === "object") path = path.attribute(step);
      else path = path.index(step);
    }
    return path;
  }

  /** Runs a codec; an error without a path gets that of the place where it happened. */
  run<T>(work: () => T): T {
    try {
      return work();
    } catch (error) {
      if (error instanceof CtyError && error.path === undefined) throw error.within(this.path);
      throw error;
    }
  }
}

/**
 * Collects the attributes of one object, which mostly come in order but need not. Until one does not, they are just
 * appended.
 */
export class AttributeSlots<T> {
  readonly #type: ObjectType;
  readonly #slots: (T | undefined)[] = [];
  #inOrder = true;

  constructor(type: ObjectType) {
    this.#type = type;
  }

  /** The position where the next attribute belongs if they come in order; undefined once they did not. */
  get next(): number | undefined {
    return this.#inOrder ? this.#slots.length : undefined;
  }

  /** Position of an attribute, or undefined where there is none. */
  position(name: string): number | undefined {
    const next = this.#slots.length;
    if (this.#inOrder && this.#type.names[next] === name) return next;
    return this.#type.indexOf(name);
  }

  /** False where the attribute was there before; the new one then counts. */
  set(position: number, part: T): boolean {
    if (this.#inOrder && position === this.#slots.length) {
      this.#slots.push(part);
      return true;
    }
    this.#inOrder = false;
    const fresh = this.#slots[position] === undefined;
    this.#slots[position] = part;
    return fresh;
  }

  /** The attributes in order, with `missing` in place of those that were not read. */
  finish(missing: (type: Type) => T): T[] {
    return this.#type.types.map((type, i) => {
      const part = this.#slots[i];
      return part === undefined ? missing(type) : part;
    });
  }
}

/**
 * The names of attributes as a format writes them, for the types that occur again and again in one value, as those of
 * elements do. A type that occurs once is not worth it.
 */
export class AttributeTexts<T> {
  readonly #make: (names: readonly string[]) => readonly T[];
  readonly #known = new Map<ObjectType, readonly T[] | "seen">();

  constructor(make: (names: readonly string[]) => readonly T[]) {
    this.#make = make;
  }

  /** The texts in the order of the names, or undefined for a type that is met for the first time. */
  get(type: ObjectType): readonly T[] | undefined {
    const known = this.#known.get(type);
    if (known === undefined) {
      this.#known.set(type, "seen");
      return undefined;
    }
    if (known !== "seen") return known;
    const texts = this.#make(type.names);
    this.#known.set(type, texts);
    return texts;
  }
}

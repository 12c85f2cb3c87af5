import { CtyError } from "../errors.ts";
import { Path } from "../path/path.ts";
import type { ObjectType, Type } from "../type/type.ts";
import { Value } from "../value/value.ts";

/**
 * Where in a value a codec is at work. Steps are pushed before a part and popped behind it, so that after an error they
 * still tell where it happened, and nothing is built for places where none does.
 */
export class Place {
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

/** Collects the attributes of one object while they are read in any order. */
export class AttributeSlots<T> {
  readonly #type: ObjectType;
  readonly #slots: (T | undefined)[];
  #next = 0;

  constructor(type: ObjectType) {
    this.#type = type;
    this.#slots = Array.from({ length: type.names.length }, () => undefined);
  }

  /** Position of an attribute, or undefined where there is none; quick where attributes come in order. */
  position(name: string): number | undefined {
    if (this.#type.names[this.#next] === name) return this.#next;
    return this.#type.indexOf(name);
  }

  /** False where the attribute was there before. */
  set(position: number, part: T): boolean {
    const fresh = this.#slots[position] === undefined;
    this.#slots[position] = part;
    this.#next = position + 1;
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

import { compareStrings } from "../text/strings.ts";

/**
 * One mark: a statement about a value that everything computed from the value inherits. The kind defines
 * the statement, the key distinguishes two marks of a kind; marks with the same kind and key are the same mark, wherever
 * they were made. `data` is for the application and takes no part in comparison.
 */
export class Mark {
  /** Must not be shown or stored in the clear. */
  static readonly sensitive = new Mark("sensitive");
  /** Exists only while an operation runs and must not be stored at all. */
  static readonly ephemeral = new Mark("ephemeral");

  readonly kind: string;
  readonly key: string;
  readonly data: unknown;

  private constructor(kind: string, key = "", data?: unknown) {
    this.kind = kind;
    this.key = key;
    this.data = data;
  }

  /** Using the value deserves a warning. The message distinguishes deprecations. */
  static deprecated(message: string, data?: unknown): Mark {
    return new Mark("deprecated", message, data);
  }

  /** A mark of any kind. `sensitive` and `ephemeral` without a key are the two constants. */
  static of(kind: string, key = "", data?: unknown): Mark {
    if (key === "" && data === undefined) {
      if (kind === Mark.sensitive.kind) return Mark.sensitive;
      if (kind === Mark.ephemeral.kind) return Mark.ephemeral;
    }
    return new Mark(kind, key, data);
  }

  equals(other: Mark): boolean {
    return this === other || (this.kind === other.kind && this.key === other.key);
  }

  toString(): string {
    return this.key === "" ? this.kind : `${this.kind}(${this.key})`;
  }
}

function compareMarks(a: Mark, b: Mark): number {
  return compareStrings(a.kind, b.kind) || compareStrings(a.key, b.key);
}

/** An immutable set of marks, iterated in the order of kind and key. */
export class Marks implements Iterable<Mark> {
  static readonly none = new Marks([]);

  readonly #sorted: readonly Mark[];

  private constructor(sorted: readonly Mark[]) {
    this.#sorted = sorted;
  }

  static of(...marks: readonly Mark[]): Marks {
    return Marks.from(marks);
  }

  static from(marks: Iterable<Mark>): Marks {
    const sorted: Mark[] = [];
    for (const mark of [...marks].sort(compareMarks)) {
      if (sorted.at(-1)?.equals(mark) !== true) sorted.push(mark);
    }
    return sorted.length === 0 ? Marks.none : new Marks(sorted);
  }

  get size(): number {
    return this.#sorted.length;
  }

  get isEmpty(): boolean {
    return this.#sorted.length === 0;
  }

  [Symbol.iterator](): Iterator<Mark> {
    return this.#sorted[Symbol.iterator]();
  }

  has(mark: Mark): boolean {
    return this.#sorted.some((own) => own.equals(mark));
  }

  /** Whether there is a mark of this kind, with any key. */
  hasKind(kind: string): boolean {
    return this.#sorted.some((own) => own.kind === kind);
  }

  /** The marks of one kind. */
  ofKind(kind: string): readonly Mark[] {
    return this.#sorted.filter((own) => own.kind === kind);
  }

  union(other: Marks): Marks {
    if (other.isEmpty || other === this || other.isSubsetOf(this)) return this;
    if (this.isEmpty || this.isSubsetOf(other)) return other;
    return Marks.from([...this.#sorted, ...other.#sorted]);
  }

  without(mark: Mark): Marks {
    return this.has(mark) ? Marks.from(this.#sorted.filter((own) => !own.equals(mark))) : this;
  }

  isSubsetOf(other: Marks): boolean {
    return this.size <= other.size && this.#sorted.every((mark) => other.has(mark));
  }

  equals(other: Marks): boolean {
    return this === other || (this.size === other.size && this.isSubsetOf(other));
  }

  toString(): string {
    return this.#sorted.join(", ");
  }
}

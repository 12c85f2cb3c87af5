import { deepValues, Mark, transform, Value } from "@stackwright/cty";
import { createRedactor, REDACTED, type Redactor } from "./redactor.ts";

/** Longer secrets are compared as a whole only: all their forms would take many times their memory. */
const LONGEST_PART = 64 * 1024;

/** Shorter secrets of other objects are not searched for: they are part of too many names. */
const SHORTEST_ELSEWHERE = 6;

/** Fewer characters at the end of a text are the beginning of too many secrets to say anything. */
const SHORTEST_BEGINNING = 4;

/**
 * Marks the parts of values that repeat a secret, so that every renderer hides them like the secret itself.
 *
 * A provider may return a sensitive argument in an attribute that no schema and no mark calls sensitive. The store encrypts
 * such an attribute; what is shown follows the same rule. Inside of one object every text and number that equals a sensitive
 * part of it counts, and every text that contains one in a form that a redactor knows. Between objects secrets of at least 6
 * characters count.
 */
export class Concealer {
  readonly #everywhere = new Known(SHORTEST_ELSEWHERE);

  /** Adds the sensitive parts of values, for all objects. */
  learn(...values: readonly (Value | undefined)[]): this {
    this.#everywhere.learn(values);
    return this;
  }

  /**
   * Returns the versions of one object, in their order, with marks on what repeats a sensitive part of any version or of
   * anything learned before.
   */
  conceal<T extends readonly (Value | undefined)[]>(...versions: T): T {
    const own = new Known();
    own.learn(versions);
    const known = [own, this.#everywhere].filter(({ isEmpty }) => !isEmpty);
    if (known.length === 0) return versions;
    return versions.map((value) => value && hideRepeats(value, known)) as readonly unknown[] as T;
  }

  /** Adds secret texts that are in no value, for all objects. */
  learnTexts(secrets: Iterable<string>): this {
    this.#everywhere.learn([...secrets].map((secret) => Value.string(secret).mark(Mark.sensitive)));
    return this;
  }

  /** The text without secrets. */
  text(text: string): string {
    return this.#everywhere.isEmpty ? text : this.#everywhere.redact(text);
  }

  /**
   * Whether a text that belongs to an object, of these versions, holds a secret or ends with the beginning of one: it may have
   * been cut.
   */
  hasSecret(text: string, ...versions: readonly (Value | undefined)[]): boolean {
    const own = new Known();
    own.learn(versions);
    return [own, this.#everywhere].some((known) => !known.isEmpty && known.begins(text));
  }
}

class Known {
  readonly #shortest: number;
  readonly #whole = new Set<string>();
  readonly #inner: Redactor;

  constructor(shortest = 1) {
    this.#shortest = shortest;
    this.#inner = createRedactor({ minLength: Math.max(4, shortest) });
  }

  get isEmpty(): boolean {
    return this.#whole.size === 0;
  }

  learn(values: readonly (Value | undefined)[]): void {
    for (const value of values) {
      if (value?.containsMarks !== true) continue;
      for (const [, part] of deepValues(value)) {
        if (!part.hasMark(Mark.sensitive)) continue;
        for (const [, secret] of deepValues(part)) this.#add(secret);
      }
    }
  }

  #add(secret: Value): void {
    const [plain] = secret.unmark();
    if (!plain.isKnown || plain.isNull) return;
    const text = leafText(plain);
    if (text === undefined || text.length < this.#shortest) return;
    this.#whole.add(`${plain.type.kind} ${text}`);
    if (plain.type.kind === "string" && text.length <= LONGEST_PART) this.#inner.add(text);
  }

  has(leaf: Value): boolean {
    const text = leafText(leaf);
    if (text === undefined) return false;
    return (
      this.#whole.has(`${leaf.type.kind} ${text}`) ||
      (leaf.type.kind === "string" && this.redact(text) !== text)
    );
  }

  hasName(name: string): boolean {
    return this.#whole.has(`string ${name}`) || this.redact(name) !== name;
  }

  /** Whether a text holds a secret, or ends with the first characters of one. */
  begins(text: string): boolean {
    const piece = this.#inner.redactPiece(text);
    return (
      this.#whole.has(`string ${text}`) ||
      piece.text !== text ||
      piece.unfinished.some(({ length }) => length >= SHORTEST_BEGINNING)
    );
  }

  redact(text: string): string {
    if (text === REDACTED) return text;
    return this.#inner.redact(text);
  }
}

/** The text of a string or number; undefined for everything else, and for an empty string. */
function leafText(plain: Value): string | undefined {
  if (plain.type.kind === "string") return plain.asString() || undefined;
  return plain.type.kind === "number" ? plain.asBigFloat().text() : undefined;
}

function hideRepeats(value: Value, known: readonly Known[]): Value {
  return transform(value, {
    enter: (path, part) => {
      if (part.hasMark(Mark.sensitive)) return part;
      const [plain] = part.unmark();
      if (!plain.isKnown || plain.isNull) return part;
      const { kind } = plain.type;
      // The names of attributes of the object itself are those of its schema.
      const repeats =
        kind === "map" || (kind === "object" && path.length > 0)
          ? [...plain.entries()].some(([name]) => known.some((one) => one.hasName(name)))
          : (kind === "string" || kind === "number") && known.some((one) => one.has(plain));
      return repeats ? part.mark(Mark.sensitive) : part;
    },
  });
}

/** The value with null, still marked, in the place of every known part that is sensitive. */
export function blankSecrets(value: Value): Value {
  if (!value.containsMarks) return value;
  return transform(value, {
    enter: (_path, part) => {
      if (!part.hasMark(Mark.sensitive)) return part;
      const [plain, marks] = part.unmark();
      return plain.isKnown ? Value.null(plain.type).mark(...marks) : part;
    },
  });
}

/** The value without marks that hide it: for those who asked for secrets by a flag. */
export function revealSecrets(value: Value): Value {
  if (!value.containsMarks) return value;
  return transform(value, (_path, part) => {
    if (!part.hasMark(Mark.sensitive)) return part;
    const [plain, marks] = part.unmark();
    return plain.mark(...marks.without(Mark.sensitive));
  });
}

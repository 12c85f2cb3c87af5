import { deepValues, Mark, type Path, transform, Value } from "@stackwright/cty";
import { createRedactor, REDACTED, type Redactor } from "./redactor.ts";

/** Longer secrets are compared as a whole only: all their forms would take many times their memory. */
const LONGEST_PART = 64 * 1024;

/** Shorter secrets of other objects are not searched for: they are part of too many names. */
const SHORTEST_ELSEWHERE = 6;

/** Fewer characters at the end of a text are the beginning of too many secrets to say anything. */
const SHORTEST_BEGINNING = 4;

/** Whether the configuration itself writes a text or number at a place of an object, as a literal that it does not call sensitive. */
export type IsOpen = (path: Path, leaf: Value) => boolean;

/** Options of {@link Concealer}. */
interface ConcealerOptions {
  /** Texts that are shown at open places: between objects they are not searched for. @default none */
  readonly disclosed?: ReadonlySet<string>;
}

/**
 * Marks the parts of values that repeat a secret, so that every renderer hides them like the secret itself.
 *
 * A provider may return a sensitive argument in an attribute that no schema and no mark calls sensitive. The store encrypts
 * such an attribute; what is shown follows the same rule. Inside of one object every text and number that equals a sensitive
 * part of it counts, and every text that contains one in a form that a redactor knows. Between objects secrets of at least 6
 * characters count.
 *
 * What the configuration writes openly is shown ({@link IsOpen}): a user name that is also the password of a test, say. The text is in the
 * configuration at this very place, so that nothing is disclosed by it, and a provider had no part in it. Between objects such a text
 * is not searched for either: it is shown anyway, and would hide every name with it. Inside of the object whose secret it
 * is, all other places stay hidden, as there a provider repeats what it was given. A text of the environment is never shown.
 */
export class Concealer {
  readonly #everywhere: Known;
  readonly #environment = new Known(SHORTEST_ELSEWHERE);

  /** Also a secret that is too short to be searched for between objects is one within its own. */
  readonly #short = new Set<string>();

  constructor({ disclosed }: ConcealerOptions = {}) {
    this.#everywhere = new Known(SHORTEST_ELSEWHERE, disclosed);
  }

  /** Whether it knows anything to hide between objects, or might within one. */
  get hasSecrets(): boolean {
    return this.#short.size > 0 || !this.#everywhere.isEmpty || !this.#environment.isEmpty;
  }

  /** Whether a text may equal or hold a secret of any object. What it says no to is hidden nowhere. */
  mayHide(text: string): boolean {
    if (this.#everywhere.holds(text) || this.#environment.holds(text)) return true;
    // Four characters and more are also searched for within a text.
    return (
      this.#short.has(text) || [...this.#short].some((one) => one.length >= 4 && text.includes(one))
    );
  }

  /** Adds the sensitive parts of values, for all objects. */
  learn(...values: readonly (Value | undefined)[]): this {
    for (const text of this.#everywhere.learn(values)) this.#short.add(text);
    return this;
  }

  /**
   * Returns the versions of one object, in their order, with marks on what repeats a sensitive part of any version or of
   * anything learned before.
   */
  conceal<T extends readonly (Value | undefined)[]>(...versions: T): T {
    return this.concealUnless(() => false, ...versions);
  }

  /** {@link conceal} without marks on what is open. */
  concealUnless<T extends readonly (Value | undefined)[]>(isOpen: IsOpen, ...versions: T): T {
    const own = new Known();
    own.learn(versions);
    const known = [own, this.#everywhere].filter(({ isEmpty }) => !isEmpty);
    const closed = [this.#environment].filter(({ isEmpty }) => !isEmpty);
    if (known.length + closed.length === 0) return versions;
    return versions.map(
      (value) => value && hideRepeats(value, { known, closed, isOpen }),
    ) as readonly unknown[] as T;
  }

  /** Adds secret texts that are in no value, for all objects. */
  learnTexts(secrets: Iterable<string>): this {
    this.#environment.learn(
      [...secrets].map((secret) => Value.string(secret).mark(Mark.sensitive)),
    );
    return this;
  }

  /** The text without secrets. */
  text(text: string): string {
    return [this.#everywhere, this.#environment].reduce(
      (clean, known) => (known.isEmpty ? clean : known.redact(clean)),
      text,
    );
  }

  /**
   * Whether a text that belongs to an object, of these versions, holds a secret or ends with the beginning of one: it may have
   * been cut.
   */
  hasSecret(text: string, ...versions: readonly (Value | undefined)[]): boolean {
    const own = new Known();
    own.learn(versions);
    return [own, this.#everywhere, this.#environment].some(
      (known) => !known.isEmpty && known.begins(text),
    );
  }
}

class Known {
  readonly #shortest: number;
  readonly #disclosed: ReadonlySet<string>;
  readonly #whole = new Set<string>();
  readonly #inner: Redactor;

  constructor(shortest = 1, disclosed: ReadonlySet<string> = new Set()) {
    this.#shortest = shortest;
    this.#disclosed = disclosed;
    this.#inner = createRedactor({ minLength: Math.max(4, shortest) });
  }

  get isEmpty(): boolean {
    return this.#whole.size === 0;
  }

  /** Returns the texts that are too short. */
  learn(values: readonly (Value | undefined)[]): readonly string[] {
    const short: string[] = [];
    for (const value of values) {
      if (value?.containsMarks !== true) continue;
      for (const [, part] of deepValues(value)) {
        if (!part.hasMark(Mark.sensitive)) continue;
        for (const [, secret] of deepValues(part)) {
          const text = this.#add(secret);
          if (text !== undefined) short.push(text);
        }
      }
    }
    return short;
  }

  #add(secret: Value): string | undefined {
    const [plain] = secret.unmark();
    if (!plain.isKnown || plain.isNull) return undefined;
    const text = leafText(plain);
    if (text === undefined || this.#disclosed.has(text)) return undefined;
    if (text.length < this.#shortest) return text;
    this.#whole.add(`${plain.type.kind} ${text}`);
    if (plain.type.kind === "string" && text.length <= LONGEST_PART) this.#inner.add(text);
    return undefined;
  }

  /** Whether a text, or a number with that text, is hidden. */
  holds(text: string): boolean {
    return this.#whole.has(`number ${text}`) || this.hasName(text);
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

function isLeaf(value: Value): boolean {
  const { kind } = value.type;
  return (
    (kind === "string" || kind === "number") && !value.isMarked && value.isKnown && !value.isNull
  );
}

/** The text of a string or number, known and without marks; undefined for everything else, and for an empty string. */
export function leafText(plain: Value): string | undefined {
  if (plain.type.kind === "string") return plain.asString() || undefined;
  return plain.type.kind === "number" ? plain.asBigFloat().text() : undefined;
}

interface HiddenParts {
  readonly known: readonly Known[];
  /** Secrets that are hidden at open places as well. */
  readonly closed: readonly Known[];
  readonly isOpen: IsOpen;
}

function hideRepeats(value: Value, { known, closed, isOpen }: HiddenParts): Value {
  const isHidden = (path: Path, leaf: Value): boolean =>
    closed.some((one) => one.has(leaf)) ||
    (known.some((one) => one.has(leaf)) && !isOpen(path, leaf));
  const isHiddenName = (path: Path, name: string, member: Value): boolean =>
    closed.some((one) => one.hasName(name)) ||
    (known.some((one) => one.hasName(name)) && !(isLeaf(member) && isOpen(path, member)));
  return transform(value, {
    enter: (path, part) => {
      if (part.hasMark(Mark.sensitive)) return part;
      const [plain] = part.unmark();
      if (!plain.isKnown || plain.isNull) return part;
      const { kind } = plain.type;
      // The names of attributes of the object itself are those of its schema.
      const repeats =
        kind === "map" || (kind === "object" && path.length > 0)
          ? [...plain.entries()].some(([name, member]) =>
              isHiddenName(kind === "map" ? path.index(name) : path.attribute(name), name, member),
            )
          : (kind === "string" || kind === "number") && isHidden(path, plain);
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

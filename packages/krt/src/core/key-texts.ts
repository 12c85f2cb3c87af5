import { KrtError } from "../errors.ts";
import { sameKey } from "./store-key.ts";

/** Rejects an index key without a text form, which cannot be distinguished from others. */
export function requireText(key: unknown): void {
  const type = typeof key;
  if ((type !== "object" || key === null) && type !== "function" && type !== "symbol") return;
  throw new TypeError(`an index key of type ${type} needs \`toText\``);
}

/**
 * The texts under which groups stand in a collection: `String(key)`, and another one where a key of another
 * type has that already (`1` and `"1"`).
 *
 * Invariant: `#keys` has the keys in use by their texts, and `#others` those among them whose text is another.
 */
export class KeyTexts {
  readonly #keys = new Map<string, unknown>();
  readonly #others = new Map<unknown, string>();
  readonly #onClash: (key: unknown, text: string) => void;

  /** `onClash` is called with a key that cannot have its own text, which it is given then. */
  constructor(onClash: (key: unknown, text: string) => void) {
    this.#onClash = onClash;
  }

  /** The text of a key, whether it is in use or not. */
  peek(key: unknown): string {
    return this.#others.get(key) ?? String(key);
  }

  /** Whether a key is in use. */
  uses(key: unknown): boolean {
    return this.#has(this.peek(key), key);
  }

  /** The text of a key, which is in use from now on. */
  use(key: unknown): string {
    const known = this.peek(key);
    if (!this.#keys.has(known)) this.#keys.set(known, key);
    if (this.#has(known, key)) return known;
    let text = `${typeof key}:${known}`;
    while (this.#keys.has(text)) text += "'";
    this.#keys.set(text, key);
    this.#others.set(key, text);
    this.#onClash(key, text);
    return text;
  }

  /** The key is no longer in use. */
  release(key: unknown): void {
    const text = this.peek(key);
    if (!this.#has(text, key)) return;
    this.#keys.delete(text);
    this.#others.delete(key);
  }

  #has(text: string, key: unknown): boolean {
    return this.#keys.has(text) && sameKey(this.#keys.get(text), key);
  }
}

/** Two keys of one collection have the same text. */
export function clash(collection: string, key: unknown, text: string): KrtError {
  const message = `a group key of ${collection} has the same text as one of another type: ${String(key)} of type ${typeof key} is now "${text}"; give \`toText\``;
  return new KrtError("KRT_DUPLICATE_KEY", message, { details: { collection, key: text } });
}

import { CtyError } from "../errors.ts";

/** A number as it stands in a JSON text. */
interface RawJsonNumber {
  readonly literal: string;
}

const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
// oxlint-disable-next-line no-control-regex -- these are what JSON does not allow in a string
const SPECIAL = /[\\\u0000-\u001f]/;
// oxlint-disable-next-line no-control-regex -- these are what JSON does not allow in a string
const PLAIN_STRING = /[^"\\\u0000-\u001f]*/y;
const ESCAPES: Readonly<Record<string, string>> = {
  '"': '"',
  "\\": "\\",
  "/": "/",
  b: "\b",
  f: "\f",
  n: "\n",
  r: "\r",
  t: "\t",
};

/**
 * Reads a JSON text token by token. Unlike the platform's parser it keeps numbers as they are written, shows every
 * member of an object, also of equal names, and can leave a part for later. Errors are `CTY_JSON` with the offset.
 */
export class JsonReader {
  readonly #text: string;
  #position = 0;

  constructor(text: string) {
    this.#text = text;
  }

  get position(): number {
    return this.#position;
  }

  /** Goes back to a place, to read a part that was skipped. */
  seek(position: number): void {
    this.#position = position;
  }

  error(message: string): CtyError {
    return new CtyError("CTY_JSON", `${message} at offset ${this.#position}`);
  }

  /** The next character that is not white space, which stays unread; empty at the end of the text. */
  peek(): string {
    let code = this.#text.charCodeAt(this.#position);
    while (code === 32 || code === 10 || code === 13 || code === 9) {
      this.#position += 1;
      code = this.#text.charCodeAt(this.#position);
    }
    return this.#text.charAt(this.#position);
  }

  /** Reads the character if it is the next one. */
  take(character: string): boolean {
    if (this.peek() !== character) return false;
    this.#position += 1;
    return true;
  }

  expect(character: string): void {
    if (!this.take(character)) throw this.error(`expected ${character}`);
  }

  /** Nothing but white space may follow. */
  end(): void {
    if (this.peek() !== "") throw this.error("unexpected text after the value");
  }

  /** Reads the text if it comes next, right here. */
  takeText(text: string): boolean {
    if (!this.#text.startsWith(text, this.#position)) return false;
    this.#position += text.length;
    return true;
  }

  /** Reads a null if there is one. */
  takeNull(): boolean {
    return this.peek() === "n" && this.#word("null");
  }

  /** A string, number, or bool. */
  scalar(): string | RawJsonNumber | boolean {
    const next = this.peek();
    if (next === '"') return this.string();
    if (next === "t") {
      this.#word("true");
      return true;
    }
    if (next === "f") {
      this.#word("false");
      return false;
    }
    return this.number();
  }

  number(): RawJsonNumber {
    NUMBER.lastIndex = this.#position;
    const match = NUMBER.exec(this.#text);
    if (match === null) throw this.error("expected a value");
    this.#position = NUMBER.lastIndex;
    return { literal: match[0] };
  }

  string(): string {
    this.expect('"');
    const end = this.#text.indexOf('"', this.#position);
    const simple = this.#text.slice(this.#position, end);
    if (end >= 0 && !SPECIAL.test(simple)) {
      this.#position = end + 1;
      return detached(simple);
    }
    let result = "";
    for (;;) {
      PLAIN_STRING.lastIndex = this.#position;
      result += PLAIN_STRING.exec(this.#text)?.[0] ?? "";
      this.#position = PLAIN_STRING.lastIndex;
      const next = this.#text.charAt(this.#position);
      if (next === '"') {
        this.#position += 1;
        return result;
      }
      if (next !== "\\") throw this.error("unterminated string or control character in it");
      result += this.#escape();
    }
  }

  #escape(): string {
    const letter = this.#text.charAt(this.#position + 1);
    if (letter === "u") {
      const hex = this.#text.slice(this.#position + 2, this.#position + 6);
      if (!/^[0-9a-fA-F]{4}$/.test(hex)) throw this.error("malformed escape");
      this.#position += 6;
      return String.fromCharCode(Number.parseInt(hex, 16));
    }
    const character = ESCAPES[letter];
    if (character === undefined) throw this.error("malformed escape");
    this.#position += 2;
    return character;
  }

  #word(word: string): boolean {
    if (!this.#text.startsWith(word, this.#position)) throw this.error("expected a value");
    this.#position += word.length;
    return true;
  }

  /** Reads the members of an object; `member` must read each value. */
  object(member: (name: string) => void): void {
    this.members(() => member(this.memberName()));
  }

  /** Reads the members of an object; `member` must read each name and value. */
  members(member: () => void): void {
    this.expect("{");
    if (this.take("}")) return;
    do member();
    while (this.take(","));
    this.expect("}");
  }

  /** The name of a member and the colon behind it. */
  memberName(): string {
    if (this.peek() !== '"') throw this.error("expected a member name");
    const name = this.string();
    this.expect(":");
    return name;
  }

  /** Reads the elements of an array; `element` must read each. */
  array(element: (index: number) => void): void {
    this.expect("[");
    if (this.take("]")) return;
    let index = 0;
    do {
      element(index);
      index += 1;
    } while (this.take(","));
    this.expect("]");
  }

  /** Skips one value of any kind, without recursion. */
  skip(): void {
    const open: string[] = [];
    do {
      const next = this.peek();
      if (next === "{" || next === "[") {
        this.#position += 1;
        open.push(next);
        if (this.take(next === "{" ? "}" : "]")) open.pop();
        else {
          if (next === "{") this.memberName();
          continue;
        }
      } else if (!this.takeNull()) this.scalar();
      this.#closeOrContinue(open);
    } while (open.length > 0);
  }

  /** Behind a value: closes what ends here, or moves to the next element. */
  #closeOrContinue(open: string[]): void {
    for (let top = open.at(-1); top !== undefined; top = open.at(-1)) {
      if (this.take(",")) {
        if (top === "{") this.memberName();
        return;
      }
      this.expect(top === "{" ? "}" : "]");
      open.pop();
    }
  }
}

/**
 * The same string in memory of its own. The platform lets longer parts of a string point into the whole, and one of them
 * kept in a value would keep the whole text of the document.
 */
function detached(part: string): string {
  return part.length < 13 ? part : `${part} `.slice(0, -1);
}

/** Decodes UTF-8; malformed bytes become U+FFFD, as the reference reads JSON. */
export function jsonText(source: string | Uint8Array): string {
  return typeof source === "string"
    ? source
    : new TextDecoder("utf-8", { ignoreBOM: true }).decode(source);
}

// oxlint-disable-next-line no-control-regex -- these are what JSON does not allow in a string
const NEEDS_ESCAPE = /[\u0000-\u001f"\\<>&\u2028\u2029\ud800-\udfff]/;
// oxlint-disable-next-line no-control-regex -- these are what JSON does not allow in a string
const ESCAPED = /[\u0000-\u001f"\\<>&\u2028\u2029]/g;
const SHORT: Readonly<Record<string, string>> = {
  '"': '\\"',
  "\\": "\\\\",
  "\b": "\\b",
  "\f": "\\f",
  "\n": "\\n",
  "\r": "\\r",
  "\t": "\\t",
};

/**
 * A JSON string literal as the reference writes it: besides what JSON demands, `<`, `>`, `&` and the two line
 * separators of Unicode are escaped, so that the text is safe inside of HTML and scripts.
 */
export function jsonString(text: string): string {
  if (!NEEDS_ESCAPE.test(text)) return `"${text}"`;
  const escaped = text
    .toWellFormed()
    .replace(ESCAPED, (c) => SHORT[c] ?? `\\u${c.charCodeAt(0).toString(16).padStart(4, "0")}`);
  return `"${escaped}"`;
}

/** Names as they stand in front of their values in JSON without white space. */
export function memberHeads(names: readonly string[]): readonly string[] {
  return names.map((name) => `${jsonString(name)}:`);
}

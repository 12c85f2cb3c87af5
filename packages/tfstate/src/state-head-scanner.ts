import { TfstateError } from "./errors.ts";

/** What identifies a state of version 4 among those of its line. */
export interface StateHead {
  readonly serial: bigint;
  /** Empty where the file has none. */
  readonly lineage: string;
  /** Version of the command that wrote it; empty where the file has none. */
  readonly terraformVersion: string;
  /** Offset of the first digit of the serial, in bytes from the beginning of the file. */
  readonly serialOffset: number;
}

// A pushdown automaton over bytes: `#expect` is what may follow, and `#isObject` has an entry for each open bracket. Strings
// and scalars are consumed in inner loops, as they are nearly all bytes of a state. Only what identifies the state is
// kept, so that memory does not depend on the size of the file.

const VALUE = 0;
const FIRST_ELEMENT = 1;
const FIRST_KEY = 2;
const KEY = 3;
const COLON = 4;
const AFTER_VALUE = 5;
const IN_STRING = 6;
const IN_ESCAPE = 7;
const IN_SCALAR = 8;
const END = 9;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;
const OPEN_ARRAY = 0x5b;
const CLOSE_ARRAY = 0x5d;
const COMMA = 0x2c;

/** Deeper than any value of a provider. */
const MAX_DEPTH = 1_000;
/** Bytes of a number: longer than any of the language. */
const MAX_SCALAR = 4_096;
/** Bytes of a text that is kept. */
const MAX_KEPT = 1_024;

const NUMBER = /^-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?$/;
const SERIAL = /^(?:0|[1-9][0-9]{0,19})$/;
const MAX_SERIAL = 2n ** 64n - 1n;
const KEPT = new Set(["version", "serial", "lineage", "terraform_version", "resources"]);

/**
 * Reads the head of a state file from a stream of its bytes, in memory that does not depend on the size of the file, and checks that
 * the whole is one well-formed JSON object with the members of a state of version 4. It does not check what the resources say:
 * {@link parseStateFile} does. Problems are `TFSTATE_FILE_INVALID`, with the offset in bytes.
 */
export class StateHeadScanner {
  #offset = 0;
  #expect = VALUE;
  readonly #isObject: boolean[] = [];
  /** Bytes of the scalar under way, or of a string that is kept. */
  #text: number[] = [];
  #isKey = false;
  #hexDigits = 0;
  #key = "";
  readonly #members = new Map<string, string>();
  #valueOffset = 0;
  #serialOffset = 0;

  /** Takes the next bytes of the file. */
  push(bytes: Uint8Array): void {
    const start = this.#offset;
    const { length } = bytes;
    let at = 0;
    while (at < length) {
      if (this.#expect === IN_STRING) {
        const from = at;
        while (at < length) {
          const byte = bytes[at] ?? 0;
          if (byte === QUOTE || byte === BACKSLASH || byte < 0x20) break;
          at += 1;
        }
        this.#keep(bytes, from, at);
        if (at === length) break;
        this.#offset = start + at;
        this.#endStringPart(bytes[at] ?? 0);
        at += 1;
        continue;
      }
      this.#offset = start + at;
      // The byte behind a scalar belongs to what follows.
      if (this.#step(bytes[at] ?? 0)) at += 1;
    }
    this.#offset = start + length;
  }

  /** Ends the file. */
  end(): StateHead {
    if (this.#expect === IN_SCALAR) this.#endScalar();
    if (this.#expect !== END) throw invalid("it ends in the middle of a value", this.#offset);
    const member = (name: string): string | undefined => this.#members.get(name);
    if (member("version") !== "4") {
      throw new TfstateError(
        "TFSTATE_FILE_INVALID",
        "the state is not of version 4; a current terraform or tofu command writes that version",
      );
    }
    const serial = member("serial") ?? "";
    if (!SERIAL.test(serial) || BigInt(serial) > MAX_SERIAL) {
      throw new TfstateError("TFSTATE_FILE_INVALID", '"serial" of the state is not a whole number');
    }
    if (member("resources") !== "[") {
      throw new TfstateError("TFSTATE_FILE_INVALID", '"resources" of the state is not a list');
    }
    return {
      serial: BigInt(serial),
      lineage: textOf(member("lineage"), "lineage"),
      terraformVersion: textOf(member("terraform_version"), "terraform_version"),
      serialOffset: this.#serialOffset,
    };
  }

  /** Handles one byte outside a string; false where it has to be handled again. */
  #step(byte: number): boolean {
    switch (this.#expect) {
      case IN_SCALAR:
        if (isScalarByte(byte)) {
          if (this.#text.length >= MAX_SCALAR) throw this.#unexpected("a number is too long");
          this.#text.push(byte);
          return true;
        }
        this.#endScalar();
        return false;
      case IN_ESCAPE:
        this.#escape(byte);
        return true;
      default:
    }
    if (byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09) return true;
    switch (this.#expect) {
      case VALUE:
        this.#beginValue(byte);
        return true;
      case FIRST_ELEMENT:
        if (byte === CLOSE_ARRAY) this.#close(false);
        else this.#beginValue(byte);
        return true;
      case FIRST_KEY:
        if (byte === CLOSE_OBJECT) this.#close(true);
        else this.#beginKey(byte);
        return true;
      case KEY:
        this.#beginKey(byte);
        return true;
      case COLON:
        if (byte !== 0x3a) throw this.#unexpected('":" is missing');
        this.#expect = VALUE;
        return true;
      case AFTER_VALUE:
        if (byte === COMMA) this.#expect = this.#isObject.at(-1) === true ? KEY : VALUE;
        else if (byte === CLOSE_OBJECT || byte === CLOSE_ARRAY) this.#close(byte === CLOSE_OBJECT);
        else throw this.#unexpected('"," is missing');
        return true;
      default:
        throw this.#unexpected("more follows behind the state");
    }
  }

  #beginValue(byte: number): void {
    const depth = this.#isObject.length;
    if (depth === 0 && byte !== OPEN_OBJECT) throw this.#unexpected("it is not a JSON object");
    this.#valueOffset = this.#offset;
    if (depth === 1) this.#requireOneSpelling();
    this.#text = [];
    if (byte === QUOTE) {
      this.#isKey = false;
      this.#expect = IN_STRING;
      if (this.#isKept) this.#text.push(QUOTE);
    } else if (byte === OPEN_OBJECT || byte === OPEN_ARRAY) {
      if (depth >= MAX_DEPTH) throw this.#unexpected("it is nested too deep");
      if (this.#isKept) this.#record(byte === OPEN_OBJECT ? "{" : "[");
      this.#isObject.push(byte === OPEN_OBJECT);
      this.#expect = byte === OPEN_OBJECT ? FIRST_KEY : FIRST_ELEMENT;
    } else if (isScalarByte(byte)) {
      this.#text.push(byte);
      this.#expect = IN_SCALAR;
    } else throw this.#unexpected("a value is missing");
  }

  #beginKey(byte: number): void {
    if (byte !== QUOTE) throw this.#unexpected("the name of a member is missing");
    this.#isKey = true;
    this.#text = this.#isObject.length === 1 ? [QUOTE] : [];
    this.#expect = IN_STRING;
  }

  /** Whether the present value is one that identifies the state. */
  get #isKept(): boolean {
    return this.#isObject.length === 1 && KEPT.has(this.#key);
  }

  /** Commands take a member of another case for the same one: they would read another serial or lineage than this does. */
  #requireOneSpelling(): void {
    const folded = this.#key.toUpperCase().toLowerCase();
    if (KEPT.has(this.#key) || !KEPT.has(folded)) return;
    throw invalid(`the state has "${folded}" in another case`, this.#valueOffset);
  }

  #keep(bytes: Uint8Array, from: number, to: number): void {
    if (this.#isObject.length !== 1 || !(this.#isKey || this.#isKept)) return;
    for (let at = from; at < to && this.#text.length < MAX_KEPT; at += 1) {
      this.#text.push(bytes[at] ?? 0);
    }
  }

  #endStringPart(byte: number): void {
    if (byte === BACKSLASH) {
      this.#keepByte(byte);
      this.#hexDigits = 0;
      this.#expect = IN_ESCAPE;
      return;
    }
    if (byte !== QUOTE) throw this.#unexpected("a text holds a control character");
    this.#keepByte(byte);
    const isTop = this.#isObject.length === 1;
    if (this.#isKey) {
      if (isTop) this.#key = stringOf(this.#text);
      this.#isKey = false;
      this.#expect = COLON;
      return;
    }
    if (this.#isKept) this.#record(Buffer.from(this.#text).toString("utf8"));
    this.#endValue();
  }

  #keepByte(byte: number): void {
    if (this.#isObject.length !== 1 || !(this.#isKey || this.#isKept)) return;
    if (this.#text.length < MAX_KEPT) this.#text.push(byte);
  }

  #escape(byte: number): void {
    this.#keepByte(byte);
    if (this.#hexDigits > 0) {
      if (!isHexDigit(byte)) throw this.#unexpected("an escape sequence is not valid");
      this.#hexDigits -= 1;
      if (this.#hexDigits === 0) this.#expect = IN_STRING;
      return;
    }
    if (byte === 0x75) this.#hexDigits = 4;
    else if (ESCAPES.has(byte)) this.#expect = IN_STRING;
    else throw this.#unexpected("an escape sequence is not valid");
  }

  #endScalar(): void {
    const text = String.fromCharCode(...this.#text);
    if (text !== "true" && text !== "false" && text !== "null" && !NUMBER.test(text)) {
      throw invalid("a value is neither a text, a number, true, false nor null", this.#valueOffset);
    }
    if (this.#isKept) this.#record(text);
    this.#endValue();
  }

  /** Notes a value that identifies the state. A name that comes twice would be read differently by other programs. */
  #record(text: string): void {
    if (this.#members.has(this.#key)) {
      throw invalid(`the state has "${this.#key}" twice`, this.#valueOffset);
    }
    this.#members.set(this.#key, text);
    if (this.#key === "serial") this.#serialOffset = this.#valueOffset;
  }

  #close(isObject: boolean): void {
    if (this.#isObject.pop() !== isObject) throw this.#unexpected("a bracket does not match");
    this.#endValue();
  }

  #endValue(): void {
    this.#expect = this.#isObject.length === 0 ? END : AFTER_VALUE;
  }

  #unexpected(what: string): TfstateError {
    return invalid(what, this.#offset);
  }
}

const ESCAPES = new Set(Buffer.from('"\\/bfnrt'));

function isScalarByte(byte: number): boolean {
  return (
    (byte >= 0x30 && byte <= 0x39) ||
    (byte >= 0x61 && byte <= 0x7a) ||
    byte === 0x2d ||
    byte === 0x2b ||
    byte === 0x2e ||
    byte === 0x45
  );
}

function isHexDigit(byte: number): boolean {
  const lower = byte | 0x20;
  return (byte >= 0x30 && byte <= 0x39) || (lower >= 0x61 && lower <= 0x66);
}

/** Empty for a name that is too long to be kept: it is none that identifies a state. */
function stringOf(text: readonly number[]): string {
  try {
    return JSON.parse(Buffer.from(text).toString("utf8")) as string;
  } catch {
    return "";
  }
}

function textOf(json: string | undefined, name: string): string {
  if (json === undefined) return "";
  if (json.startsWith('"') && json.length < MAX_KEPT) {
    try {
      return JSON.parse(json) as string;
    } catch {
      // Said below.
    }
  }
  throw new TfstateError("TFSTATE_FILE_INVALID", `"${name}" of the state is not a short text`);
}

function invalid(what: string, offset: number): TfstateError {
  return new TfstateError(
    "TFSTATE_FILE_INVALID",
    `the state is not valid JSON: ${what}, at byte ${offset}`,
  );
}

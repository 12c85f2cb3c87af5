import type { LockProblem } from "../errors.ts";

/** Where something starts in the text of a lock file. */
export interface Position {
  /** From 1. */
  readonly line: number;
  /** From 1, in Unicode code points. */
  readonly column: number;
}

/** What lock files are made of. White space and comments are gone, except for line ends. */
export type LockToken = Position &
  (
    | { readonly kind: "identifier"; readonly text: string }
    | { readonly kind: "string"; readonly text: string }
    | { readonly kind: "sign"; readonly text: "{" | "}" | "[" | "]" | "," | "=" }
    | { readonly kind: "newline"; readonly text: "\n" }
    | { readonly kind: "end"; readonly text: "" }
  );

/** Ends the reading: the text is not of the form that lock files have. */
export class LockSyntaxError extends Error {
  readonly problem: LockProblem;
  constructor(position: Position, message: string) {
    super(message);
    this.problem = { line: position.line, column: position.column, message };
  }
}

const IDENTIFIER = /[\p{ID_Start}_][\p{ID_Continue}-]*/uy;
const BLANK = /[ \t]+/y;
const SIMPLE_ESCAPES: Readonly<Record<string, string>> = {
  n: "\n",
  r: "\r",
  t: "\t",
  '"': '"',
  "\\": "\\",
};

/**
 * Splits the text of a lock file into tokens. The form is the part of HCL that lock files need:
 * identifiers, quoted strings with their escapes but without interpolation, brackets, commas,
 * equals signs, line ends, and comments of all three kinds.
 */
export class LockTokens {
  readonly #text: string;
  #at = 0;
  #line = 1;
  /** The column at `#columnAt`, a place in the current line; positions are asked in order. */
  #column = 1;
  #columnAt = 0;

  constructor(text: string) {
    // A byte order mark is no part of the text.
    this.#text = text.startsWith("\ufeff") ? text.slice(1) : text;
  }

  #position(): Position {
    for (const _ of this.#text.slice(this.#columnAt, this.#at)) this.#column++;
    this.#columnAt = this.#at;
    return { line: this.#line, column: this.#column };
  }

  #startLine(): void {
    this.#line++;
    this.#column = 1;
    this.#columnAt = this.#at;
  }

  #match(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.#at;
    return pattern.exec(this.#text)?.[0];
  }

  /** The next token; `end` again and again once the text is used up. */
  next(): LockToken {
    for (;;) {
      const blank = this.#match(BLANK);
      if (blank !== undefined) this.#at += blank.length;
      else if (!this.#skipComment()) break;
    }
    const position = this.#position();
    const char = this.#text[this.#at];
    if (char === undefined) return { ...position, kind: "end", text: "" };
    if (char === "\n" || (char === "\r" && this.#text[this.#at + 1] === "\n")) {
      this.#at += char === "\n" ? 1 : 2;
      this.#startLine();
      return { ...position, kind: "newline", text: "\n" };
    }
    switch (char) {
      case "{":
      case "}":
      case "[":
      case "]":
      case ",":
      case "=":
        this.#at++;
        return { ...position, kind: "sign", text: char };
      case '"':
        return { ...position, kind: "string", text: this.#string(position) };
      default: {
        const identifier = this.#match(IDENTIFIER);
        if (identifier !== undefined) {
          this.#at += identifier.length;
          return { ...position, kind: "identifier", text: identifier };
        }
        if (this.#text.startsWith("<<", this.#at)) {
          throw new LockSyntaxError(
            position,
            "here documents are not supported in lock files; write a quoted string",
          );
        }
        const found = JSON.stringify(String.fromCodePoint(this.#text.codePointAt(this.#at) ?? 0));
        throw new LockSyntaxError(position, `the character ${found} cannot stand here`);
      }
    }
  }

  /** Skips a comment up to its line end, or past its closing sign. */
  #skipComment(): boolean {
    if (this.#text.startsWith("/*", this.#at)) {
      const end = this.#text.indexOf("*/", this.#at + 2);
      if (end < 0) throw new LockSyntaxError(this.#position(), "the comment is not closed");
      for (;;) {
        const lineEnd = this.#text.indexOf("\n", this.#at);
        if (lineEnd < 0 || lineEnd >= end) break;
        this.#at = lineEnd + 1;
        this.#startLine();
      }
      this.#at = end + 2;
      return true;
    }
    if (this.#text[this.#at] === "#" || this.#text.startsWith("//", this.#at)) {
      const end = this.#text.indexOf("\n", this.#at);
      this.#at = end < 0 ? this.#text.length : end;
      return true;
    }
    return false;
  }

  #string(start: Position): string {
    let value = "";
    this.#at++;
    for (;;) {
      const char = this.#text[this.#at];
      if (char === undefined || char === "\n" || char === "\r") {
        throw new LockSyntaxError(start, "the quoted string is not closed on its line");
      }
      if (char === '"') {
        this.#at++;
        // HCL brings strings into this form, so equal-looking addresses and hashes are equal.
        return value.normalize("NFC");
      }
      if (char === "\\") value += this.#escape();
      else if (
        (char === "$" || char === "%") &&
        (this.#text.startsWith("{", this.#at + 1) ||
          this.#text.startsWith(`${char}{`, this.#at + 1))
      ) {
        if (this.#text[this.#at + 1] === "{") {
          throw new LockSyntaxError(
            this.#position(),
            `"${char}{" starts a template, which lock files cannot have; write "${char}${char}{" for the signs themselves`,
          );
        }
        value += `${char}{`;
        this.#at += 3;
      } else {
        value += char;
        this.#at++;
      }
    }
  }

  #escape(): string {
    const position = this.#position();
    const char = this.#text[this.#at + 1] ?? "";
    const simple = SIMPLE_ESCAPES[char];
    if (simple !== undefined) {
      this.#at += 2;
      return simple;
    }
    const digits = char === "u" ? 4 : char === "U" ? 8 : 0;
    const hex = this.#text.slice(this.#at + 2, this.#at + 2 + digits);
    const codePoint = /^[0-9a-fA-F]+$/.test(hex) && hex.length === digits ? parseInt(hex, 16) : -1;
    const isScalar =
      codePoint >= 0 && codePoint <= 0x10ffff && !(codePoint >= 0xd800 && codePoint <= 0xdfff);
    if (digits === 0 || !isScalar) {
      throw new LockSyntaxError(
        position,
        'the escape sequence does not exist; there are \\n \\r \\t \\" \\\\ \\uNNNN and \\UNNNNNNNN',
      );
    }
    this.#at += 2 + digits;
    return String.fromCodePoint(codePoint);
  }
}

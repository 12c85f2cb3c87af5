import type { SyntaxNode } from "./ast.ts";
import type {
  JsonFile,
  JsonInvalidNode,
  JsonMember,
  JsonObjectNode,
  JsonStringNode,
  JsonSyntaxNode,
} from "./json-tree.ts";
import type { ResolvedSyntaxLimits, SyntaxLimits } from "./limits.ts";
import { checkNumber } from "./number-literal.ts";
import { openSource, type SourceInput } from "./open-source.ts";
import type { ProblemCollector, SyntaxProblemCode } from "./problem.ts";
import { didYouMean } from "./suggestion.ts";

/**
 * Parses JSON (RFC 8259) with ranges, keeping the order of members, repeated names and the exact
 * text of numbers. Never throws for anything in the text: mistakes are diagnostics.
 *
 * Whether a repeated name is a mistake depends on what it stands for (several blocks, or one
 * argument set twice), so that is left to the reader of the tree.
 */
export function parseJson(input: SourceInput, limits?: SyntaxLimits): JsonFile {
  const { source, problems, limits: resolved } = openSource(input, limits);
  const root = new JsonReader(problems, resolved).file();
  return { source, root, diagnostics: problems.diagnostics };
}

const WHITE_SPACE = /[ \t\r\n]*/y;
const NUMBER = /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/y;
const NUMBER_LIKE = /[-+.0-9A-Za-z]+/y;
const WORD = /[A-Za-z_][A-Za-z0-9_]*/y;
const PLAIN_TEXT = /(?:[^"\\\p{Cc}]|[\x7f-\x9f])*/uy;
const ESCAPES: Readonly<Record<string, string | undefined>> = {
  '"': '"',
  "\\": "\\",
  "/": "/",
  b: "\b",
  f: "\f",
  n: "\n",
  r: "\r",
  t: "\t",
};

class JsonReader {
  readonly #text: string;
  readonly #problems: ProblemCollector;
  readonly #limits: ResolvedSyntaxLimits;
  #at: number;
  #depth = 0;
  #values = 0;

  constructor(problems: ProblemCollector, limits: ResolvedSyntaxLimits) {
    this.#problems = problems;
    this.#limits = limits;
    this.#text = problems.source.text;
    this.#at = problems.source.contentStart;
  }

  file(): JsonSyntaxNode {
    if (this.#at > 0) {
      const detail =
        "The file begins with a byte order mark, which JSON must not have. Save it without one.";
      return this.#wrong("LANG_JSON", detail, 0, this.#at);
    }
    this.#space();
    if (this.#at >= this.#text.length) {
      return this.#wrong("LANG_JSON", "A JSON value is missing: the file is empty.", this.#at);
    }
    const root = this.#value();
    this.#space();
    if (this.#at < this.#text.length && root.kind !== "invalid") {
      const from = this.#at;
      this.#wrong(
        "LANG_JSON",
        "The file must end here: it can hold one JSON value.",
        from,
        from + 1,
      );
    }
    return root;
  }

  #space(): void {
    this.#match(WHITE_SPACE);
  }

  /** Text at the current place that a sticky pattern matches, which is taken. */
  #match(pattern: RegExp): string {
    pattern.lastIndex = this.#at;
    const found = pattern.exec(this.#text)?.[0] ?? "";
    this.#at += found.length;
    return found;
  }

  #wrong(
    code: SyntaxProblemCode,
    detail: string,
    start: number,
    end: number = this.#at,
  ): JsonInvalidNode {
    this.#problems.error(code, detail, start, Math.max(start, end));
    return { kind: "invalid", source: this.#problems.source, start, end: Math.max(start, end) };
  }

  #value(): JsonSyntaxNode {
    const start = this.#at;
    if (++this.#values > this.#limits.maxTokens) {
      const detail = `A file may have at most ${this.#limits.maxTokens} values.`;
      return this.#abandon("LANG_LIMIT_TOKENS", detail);
    }
    const char = this.#text[start] ?? "";
    if (char === "{" || char === "[") {
      if (this.#depth >= this.#limits.maxDepth) {
        const detail = `Values may be nested at most ${this.#limits.maxDepth} levels deep.`;
        return this.#abandon("LANG_LIMIT_DEPTH", detail);
      }
      this.#depth++;
      const value = char === "{" ? this.#object() : this.#array();
      this.#depth--;
      return value;
    }
    if (char === '"') return this.#string();
    if (/[-+.0-9]/.test(char)) return this.#number();
    if (/[A-Za-z_]/.test(char)) return this.#keyword();
    if (char === "") return this.#wrong("LANG_JSON", "A JSON value is missing.", start);
    if (char === "'") {
      return this.#wrong("LANG_JSON", "Strings are enclosed in double quotes.", start, start + 1);
    }
    return this.#wrong("LANG_JSON", "A JSON value cannot begin with this.", start, start + 1);
  }

  /** Reports that a limit was passed and gives up the rest of the file. */
  #abandon(code: SyntaxProblemCode, detail: string): JsonInvalidNode {
    const start = this.#at;
    this.#at = this.#text.length;
    const invalid = this.#wrong(code, detail, start, start + 1);
    this.#problems.close();
    return invalid;
  }

  #object(): JsonObjectNode {
    const start = this.#at;
    const members: JsonMember[] = [];
    this.#items("}", start, () => {
      const nameStart = this.#at;
      const name = this.#text[nameStart] === '"' ? this.#string() : undefined;
      if (name?.kind !== "string") {
        if (name === undefined) {
          const detail = "The name of a member is expected here: a string in double quotes.";
          this.#wrong("LANG_JSON", detail, nameStart, nameStart + 1);
        }
        return false;
      }
      this.#space();
      if (this.#text[this.#at] !== ":") {
        const detail = "A colon is expected after the name of a member.";
        this.#wrong("LANG_JSON", detail, this.#at, this.#at + 1);
        return false;
      }
      this.#at++;
      this.#space();
      const value = this.#value();
      members.push({ name, value });
      return value.kind !== "invalid";
    });
    return { kind: "object", source: this.#problems.source, start, end: this.#at, members };
  }

  #array(): JsonSyntaxNode {
    const start = this.#at;
    const elements: JsonSyntaxNode[] = [];
    this.#items("]", start, () => {
      const value = this.#value();
      elements.push(value);
      return value.kind !== "invalid";
    });
    return { kind: "array", source: this.#problems.source, start, end: this.#at, elements };
  }

  /** Items with commas between them, up to the closing bracket. `item` says whether it went well. */
  #items(close: string, start: number, item: () => boolean): void {
    this.#at++;
    this.#space();
    if (this.#text[this.#at] === close) {
      this.#at++;
      return;
    }
    for (;;) {
      const good = item();
      if (!good) this.#skipItem();
      this.#space();
      if (good && ![",", close, undefined].includes(this.#text[this.#at])) {
        const detail = `A comma or the closing "${close}" is expected here.`;
        this.#wrong("LANG_JSON", detail, this.#at, this.#at + 1);
        this.#skipItem();
      }
      const char = this.#text[this.#at];
      if (char === close) {
        this.#at++;
        return;
      }
      if (char !== ",") {
        // The end of the file, or a bracket of an enclosing value.
        const detail = `This bracket is never closed with "${close}".`;
        if (good && char === undefined) {
          this.#wrong("LANG_JSON", detail, start, start + 1);
          this.#problems.close();
        }
        return;
      }
      const comma = this.#at++;
      this.#space();
      if (this.#text[this.#at] === close) {
        this.#wrong("LANG_JSON", "A comma cannot stand behind the last item.", comma, comma + 1);
        this.#at++;
        return;
      }
    }
  }

  /** Moves to the comma or closing bracket that ends a broken item, past nested brackets. */
  #skipItem(): void {
    let nesting = 0;
    for (; this.#at < this.#text.length; this.#at++) {
      const char = this.#text[this.#at];
      if (char === '"') {
        const close = /"(?:[^"\\\n]|\\.)*"?/y;
        close.lastIndex = this.#at;
        this.#at += (close.exec(this.#text)?.[0].length ?? 1) - 1;
      } else if (char === "{" || char === "[") {
        nesting++;
      } else if (char === "}" || char === "]") {
        if (nesting-- === 0) return;
      } else if (char === "," && nesting === 0) {
        return;
      }
    }
  }

  #number(): JsonSyntaxNode {
    const start = this.#at;
    NUMBER_LIKE.lastIndex = start;
    const shown = NUMBER_LIKE.exec(this.#text)?.[0] ?? "";
    const text = this.#match(NUMBER);
    if (text.length !== shown.length) {
      this.#at = start + shown.length;
      const detail = `"${shown.slice(0, 40)}" is not a JSON number: digits, a fraction behind a dot, an exponent, a minus sign in front, no leading zeros.`;
      return this.#wrong("LANG_JSON_NUMBER", detail, start);
    }
    const { maxNumberDigits } = this.#limits;
    if (checkNumber(text.replace("-", ""), maxNumberDigits) !== undefined) {
      const detail = `A number may have at most ${maxNumberDigits} digits, and no larger exponent.`;
      return this.#wrong("LANG_LIMIT_NUMBER", detail, start);
    }
    return { kind: "number", source: this.#problems.source, start, end: this.#at, text };
  }

  #keyword(): JsonSyntaxNode {
    const start = this.#at;
    const word = this.#match(WORD);
    const place = { source: this.#problems.source, start, end: this.#at };
    if (word === "true" || word === "false") {
      return { kind: "boolean", ...place, value: word === "true" };
    }
    if (word === "null") return { kind: "null", ...place };
    const hint = didYouMean(word, ["true", "false", "null"]);
    const detail = `"${word}" is not a JSON keyword.${hint} A string is enclosed in double quotes.`;
    return this.#wrong("LANG_JSON_KEYWORD", detail, start);
  }

  #string(): JsonStringNode | JsonInvalidNode {
    const start = this.#at;
    this.#at++;
    let value = "";
    let broken: JsonInvalidNode | undefined;
    for (;;) {
      value += this.#match(PLAIN_TEXT);
      const at = this.#at;
      const char = this.#text[at];
      if (char === '"') {
        this.#at++;
        // Halves of surrogate pairs can be written as escapes but are no characters.
        const text = value.toWellFormed();
        return broken ?? { kind: "string", ...this.#place(start), value: text };
      }
      if (char === "\\") {
        const escape = this.#escape();
        if (escape === undefined) broken ??= { kind: "invalid", ...this.#place(start) };
        value += escape ?? "";
      } else if (char === undefined || char === "\n") {
        const detail = "This string is never closed: the double quote at its end is missing.";
        return this.#wrong("LANG_JSON_STRING", detail, start, at);
      } else {
        this.#at++;
        const detail = "Control characters are written as escapes in a JSON string, such as \\t.";
        broken ??= this.#wrong("LANG_JSON_STRING", detail, at);
      }
    }
  }

  #place(start: number): SyntaxNode {
    return { source: this.#problems.source, start, end: this.#at };
  }

  /** An escape sequence; undefined where it is wrong, which has been reported. */
  #escape(): string | undefined {
    const start = this.#at;
    const selector = this.#text[start + 1] ?? "";
    this.#at = Math.min(start + 2, this.#text.length);
    const simple = ESCAPES[selector];
    if (simple !== undefined) return simple;
    const digits = /^[0-9A-Fa-f]{4}/.exec(this.#text.slice(start + 2, start + 6))?.[0];
    if (selector === "u" && digits !== undefined) {
      this.#at = start + 6;
      return String.fromCharCode(Number.parseInt(digits, 16));
    }
    const detail =
      'Escapes in JSON strings are \\", \\\\, \\/, \\b, \\f, \\n, \\r, \\t and \\uNNNN.';
    this.#wrong("LANG_JSON_STRING", detail, start);
    return undefined;
  }
}

import { TfpluginError } from "../errors.ts";

/** A value in the command's configuration file. */
export type CliValue =
  | string
  | number
  | boolean
  | readonly CliValue[]
  | { readonly [name: string]: CliValue };

/** What stands between braces, or in the whole file: in the order of the text. */
export interface CliBody {
  readonly attributes: readonly CliAttribute[];
  readonly blocks: readonly CliBlock[];
}

interface CliAttribute {
  readonly name: string;
  readonly value: CliValue;
  /** Counts from 1. */
  readonly line: number;
}

export interface CliBlock {
  readonly type: string;
  readonly labels: readonly string[];
  readonly body: CliBody;
  readonly line: number;
}

interface Token {
  readonly kind: "word" | "string" | "number" | "mark" | "end";
  readonly text: string;
  readonly line: number;
}

const MAX_DEPTH = 32;

/**
 * Reads the syntax of the command's configuration file: attributes and blocks of HCL with literal values only. Strings
 * are no templates: a `${` stays what it is. `TFPLUGIN_CLI_CONFIG_INVALID`.
 */
export function parseCliSyntax(text: string, filename: string): CliBody {
  return new Parser(tokenize(text, filename), filename).file();
}

class Parser {
  readonly #tokens: readonly Token[];
  readonly #filename: string;
  #at = 0;

  constructor(tokens: readonly Token[], filename: string) {
    this.#tokens = tokens;
    this.#filename = filename;
  }

  file(): CliBody {
    return this.#body("end", 0);
  }

  get #next(): Token {
    return this.#tokens[this.#at] ?? { kind: "end", text: "", line: 0 };
  }

  #take(): Token {
    const token = this.#next;
    this.#at += 1;
    return token;
  }

  #isMark(text: string): boolean {
    return this.#next.kind === "mark" && this.#next.text === text;
  }

  #expect(text: string): void {
    if (!this.#isMark(text)) throw this.#unexpected(`"${text}"`);
    this.#take();
  }

  #unexpected(wanted: string): TfpluginError {
    const { kind, text, line } = this.#next;
    const found = kind === "end" ? "the end of the file" : JSON.stringify(text);
    return invalid(this.#filename, line, `expected ${wanted}, found ${found}`);
  }

  #body(until: "end" | "}", depth: number): CliBody {
    if (depth > MAX_DEPTH)
      throw invalid(this.#filename, this.#next.line, "it is nested too deeply");
    const attributes: CliAttribute[] = [];
    const blocks: CliBlock[] = [];
    for (;;) {
      if (until === "end" ? this.#next.kind === "end" : this.#isMark("}")) {
        this.#take();
        return { attributes, blocks };
      }
      const { kind, text: name, line } = this.#next;
      if (kind !== "word" && kind !== "string") throw this.#unexpected("a name");
      this.#take();
      if (this.#isMark("=")) {
        this.#take();
        attributes.push({ name, value: this.#value(depth + 1), line });
        continue;
      }
      const labels: string[] = [];
      while (this.#next.kind === "string" || this.#next.kind === "word")
        labels.push(this.#take().text);
      this.#expect("{");
      blocks.push({ type: name, labels, body: this.#body("}", depth + 1), line });
    }
  }

  #value(depth: number): CliValue {
    if (depth > MAX_DEPTH)
      throw invalid(this.#filename, this.#next.line, "it is nested too deeply");
    const { kind, text } = this.#next;
    if (kind === "string") return this.#take().text;
    if (kind === "number") return Number(this.#take().text);
    if (kind === "word" && (text === "true" || text === "false"))
      return this.#take().text === "true";
    if (this.#isMark("[")) return this.#list(depth);
    if (this.#isMark("{")) return this.#object(depth);
    throw this.#unexpected("a value");
  }

  #list(depth: number): CliValue {
    this.#take();
    const items: CliValue[] = [];
    while (!this.#isMark("]")) {
      items.push(this.#value(depth + 1));
      if (!this.#isMark("]")) this.#expect(",");
    }
    this.#take();
    return items;
  }

  #object(depth: number): CliValue {
    this.#take();
    const members: [string, CliValue][] = [];
    while (!this.#isMark("}")) {
      const { kind, text } = this.#next;
      if (kind !== "word" && kind !== "string") throw this.#unexpected("a name");
      this.#take();
      if (this.#isMark(":")) this.#take();
      else this.#expect("=");
      members.push([text, this.#value(depth + 1)]);
      if (this.#isMark(",")) this.#take();
    }
    this.#take();
    return Object.fromEntries(members);
  }
}

const TOKEN =
  /(?<space>\s+|#[^\n]*|\/\/[^\n]*|\/\*[^]*?\*\/)|(?<word>[A-Za-z_][\w-]*)|(?<number>-?\d+(?:\.\d+)?)|(?<string>"(?:[^"\\\n]|\\.)*")|(?<mark>[={}[\],:])/y;

function tokenize(text: string, filename: string): readonly Token[] {
  const tokens: Token[] = [];
  let line = 1;
  const pattern = new RegExp(TOKEN);
  // A byte order mark is no part of the text.
  for (let at = text.startsWith("\u{FEFF}") ? 1 : 0; at < text.length; ) {
    pattern.lastIndex = at;
    const match = pattern.exec(text);
    if (match === null) {
      throw invalid(filename, line, `${JSON.stringify(text[at])} is not expected here`);
    }
    const { word, number, string, mark } = match.groups ?? {};
    if (word !== undefined) tokens.push({ kind: "word", text: word, line });
    else if (number !== undefined) tokens.push({ kind: "number", text: number, line });
    else if (mark !== undefined) tokens.push({ kind: "mark", text: mark, line });
    else if (string !== undefined) {
      tokens.push({ kind: "string", text: unquote(string, filename, line), line });
    }
    line += match[0].split("\n").length - 1;
    at += match[0].length;
  }
  tokens.push({ kind: "end", text: "", line });
  return tokens;
}

const ESCAPES: ReadonlyMap<string, string> = new Map([
  ["n", "\n"],
  ["t", "\t"],
  ["r", "\r"],
  ['"', '"'],
  ["\\", "\\"],
]);

function unquote(quoted: string, filename: string, line: number): string {
  const inner = quoted.slice(1, -1);
  return inner.replace(
    /\\(?:u(?<hex>[\dA-Fa-f]{4})|(?<one>.))/g,
    (sequence, hex?: string, one = "") => {
      const character =
        hex === undefined ? ESCAPES.get(one) : String.fromCodePoint(parseInt(hex, 16));
      if (character === undefined)
        throw invalid(filename, line, `${sequence} is not a valid escape sequence`);
      return character;
    },
  );
}

function invalid(filename: string, line: number, why: string): TfpluginError {
  return new TfpluginError("TFPLUGIN_CLI_CONFIG_INVALID", `${filename}:${line}: ${why}`);
}

import { TfstateError } from "./errors.ts";

/**
 * JSON as a tree that loses nothing a state file has to keep: numbers are their own text, members keep their order and
 * their names are only names.
 */
export type JsonNode =
  | { readonly kind: "object"; readonly members: readonly (readonly [string, JsonNode])[] }
  | { readonly kind: "array"; readonly items: readonly JsonNode[] }
  | { readonly kind: "string"; readonly value: string }
  /** A number, `true`, `false` or `null`, as written. */
  | { readonly kind: "literal"; readonly text: string };

const MAX_DEPTH = 1_000;
/** A token, or the first letter of a string: the expression of a whole one runs out of stack at some megabytes. */
const TOKEN =
  /[ \t\n\r]*(?:([{}[\],:"])|(-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?|true|false|null))/y;

/** Parses one JSON text. `TFSTATE_FILE_INVALID`. */
export function parseJsonNode(text: string): JsonNode {
  const parser = new Parser(text);
  const node = parser.value(0);
  parser.end();
  return node;
}

/** The text without spaces. */
export function compactJson(node: JsonNode): string {
  switch (node.kind) {
    case "object":
      return `{${node.members.map(([name, value]) => `${quote(name)}:${compactJson(value)}`).join(",")}}`;
    case "array":
      return `[${node.items.map(compactJson).join(",")}]`;
    case "string":
      return quote(node.value);
    case "literal":
      return node.text;
    default:
      return node satisfies never;
  }
}

/** The text as state files have it: two spaces per level, and letters escaped that mean something in HTML. */
export function prettyJson(node: JsonNode, indent = ""): string {
  const inner = `${indent}  `;
  if (node.kind === "object" && node.members.length > 0) {
    const lines = node.members.map(
      ([name, value]) => `${inner}${quote(name)}: ${prettyJson(value, inner)}`,
    );
    return `{\n${lines.join(",\n")}\n${indent}}`;
  }
  if (node.kind === "array" && node.items.length > 0) {
    const lines = node.items.map((item) => `${inner}${prettyJson(item, inner)}`);
    return `[\n${lines.join(",\n")}\n${indent}]`;
  }
  return compactJson(node);
}

/** An object of members; those that are undefined are left out. */
export function objectNode(
  members: Readonly<Record<string, JsonNode | undefined>>,
): Extract<JsonNode, { kind: "object" }> {
  return {
    kind: "object",
    members: Object.entries(members).flatMap(([name, value]) =>
      value === undefined ? [] : [[name, value] as const],
    ),
  };
}

export function stringNode(value: string): JsonNode {
  return { kind: "string", value };
}

export function literalNode(value: number | bigint | boolean | null): JsonNode {
  return { kind: "literal", text: String(value) };
}

export function arrayNode(items: readonly JsonNode[]): JsonNode {
  return { kind: "array", items };
}

function quote(text: string): string {
  return JSON.stringify(text).replace(
    /[<>&\u2028\u2029]/g,
    (letter) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

class Parser {
  readonly #text: string;
  #position = 0;

  constructor(text: string) {
    this.#text = text;
  }

  value(depth: number): JsonNode {
    if (depth > MAX_DEPTH) throw this.#invalid("is nested too deeply");
    const token = this.#next();
    if (token === "{") return this.#object(depth);
    if (token === "[") return this.#array(depth);
    if (token.startsWith('"')) return { kind: "string", value: this.#string(token) };
    if ("}],:".includes(token)) throw this.#invalid(`has "${token}" where a value is expected`);
    return { kind: "literal", text: token };
  }

  end(): void {
    if (this.#text.slice(this.#position).trim() !== "")
      throw this.#invalid("has content after the JSON value");
  }

  #object(depth: number): JsonNode {
    const members: (readonly [string, JsonNode])[] = [];
    for (let token = this.#next(); token !== "}" || members.length > 0; token = this.#next()) {
      if (!token.startsWith('"')) throw this.#invalid("has a member without a name");
      const name = this.#string(token);
      if (this.#next() !== ":") throw this.#invalid("has a member without a value");
      members.push([name, this.value(depth + 1)]);
      const separator = this.#next();
      if (separator === "}") break;
      if (separator !== ",") throw this.#invalid("has two members without a comma");
    }
    return { kind: "object", members };
  }

  #array(depth: number): JsonNode {
    const items: JsonNode[] = [];
    if (this.#peek() === "]") {
      this.#next();
      return { kind: "array", items };
    }
    for (;;) {
      items.push(this.value(depth + 1));
      const separator = this.#next();
      if (separator === "]") return { kind: "array", items };
      if (separator !== ",") throw this.#invalid("has two elements without a comma");
    }
  }

  #string(token: string): string {
    try {
      return JSON.parse(token) as string;
    } catch {
      throw this.#invalid("has a malformed string");
    }
  }

  #peek(): string {
    const position = this.#position;
    const token = this.#next();
    this.#position = position;
    return token;
  }

  #next(): string {
    TOKEN.lastIndex = this.#position;
    const match = TOKEN.exec(this.#text);
    if (match === null) throw this.#invalid("is not valid JSON");
    this.#position = TOKEN.lastIndex;
    const token = match[1] ?? match[2] ?? "";
    return token === '"' ? this.#quoted(TOKEN.lastIndex - 1) : token;
  }

  /** A string as it is written, from its first quote to the next one that is not escaped. */
  #quoted(start: number): string {
    for (let end = this.#text.indexOf('"', start + 1); end > 0; ) {
      let escapes = 0;
      while (this.#text[end - 1 - escapes] === "\\") escapes += 1;
      if (escapes % 2 === 0) {
        this.#position = end + 1;
        return this.#text.slice(start, end + 1);
      }
      end = this.#text.indexOf('"', end + 1);
    }
    throw this.#invalid("is not complete JSON");
  }

  #invalid(what: string): TfstateError {
    const line = this.#text.slice(0, this.#position).split("\n").length;
    return new TfstateError("TFSTATE_FILE_INVALID", `the text ${what} (line ${line})`);
  }
}

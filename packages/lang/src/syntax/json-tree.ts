import type { SyntaxNode } from "./ast.ts";
import type { Diagnostic } from "./diagnostic.ts";
import { SourceFile } from "./source-file.ts";

/** A JSON file as it was read: everything is kept that `JSON.parse` loses. */
export interface JsonFile {
  readonly source: SourceFile;
  /** The value of the file, as far as it was understood. */
  readonly root: JsonSyntaxNode;
  readonly diagnostics: readonly Diagnostic[];
}

export type JsonSyntaxNode =
  | JsonObjectNode
  | JsonArrayNode
  | JsonStringNode
  | JsonNumberNode
  | JsonBooleanNode
  | JsonNullNode
  | JsonInvalidNode;

/** Members in order; a name may occur several times. */
export interface JsonObjectNode extends SyntaxNode {
  readonly kind: "object";
  readonly members: readonly JsonMember[];
}

export interface JsonMember {
  readonly name: JsonStringNode;
  readonly value: JsonSyntaxNode;
}

export interface JsonArrayNode extends SyntaxNode {
  readonly kind: "array";
  readonly elements: readonly JsonSyntaxNode[];
}

/** A string, its escapes resolved. */
export interface JsonStringNode extends SyntaxNode {
  readonly kind: "string";
  readonly value: string;
}

/** A number as it is written; its value is exact. */
export interface JsonNumberNode extends SyntaxNode {
  readonly kind: "number";
  readonly text: string;
}

export interface JsonBooleanNode extends SyntaxNode {
  readonly kind: "boolean";
  readonly value: boolean;
}

export interface JsonNullNode extends SyntaxNode {
  readonly kind: "null";
}

/** What could not be understood; the problem has been reported. */
export interface JsonInvalidNode extends SyntaxNode {
  readonly kind: "invalid";
}

/**
 * The text of a JSON string as a source of its own, for what is written in it: a template, a
 * reference, a type. Positions in it are reported in the JSON file, through all escapes.
 */
export function jsonTextSource(node: JsonStringNode): SourceFile {
  const { source, start, value } = node;
  const offsets = new Int32Array(value.length + 1);
  let at = start + 1;
  for (let index = 0; index < value.length; index++) {
    offsets[index] = at;
    if (source.text[at] !== "\\") at += 1;
    else at += source.text[at + 1] === "u" ? 6 : 2;
  }
  offsets[value.length] = at;
  return new SourceFile(source.name, value, { host: source, offsets });
}

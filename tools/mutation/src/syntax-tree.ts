import { parseSync } from "oxc-parser";

/** A node of the tree that the parser makes; which other members it has depends on its type. */
export interface SyntaxNode {
  readonly type: string;
  readonly start: number;
  readonly end: number;
  readonly [member: string]: unknown;
}

/** The tree of a source that has no syntax errors. */
export function parseSource(path: string, source: string): SyntaxNode {
  const { program, errors } = parseSync(path, source);
  const [error] = errors;
  if (error !== undefined) throw new Error(`${path}: ${error.message}`);
  return program as unknown as SyntaxNode;
}

/** The nodes directly below a node, in the order of the text. */
export function childrenOf(node: SyntaxNode): SyntaxNode[] {
  return Object.values(node)
    .flat()
    .filter(isNode)
    .toSorted((left, right) => left.start - right.start);
}

function isNode(value: unknown): value is SyntaxNode {
  return typeof value === "object" && value !== null && "type" in value && "start" in value;
}

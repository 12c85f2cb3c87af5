import type { Diagnostic } from "./diagnostic.ts";
import type { SourceFile } from "./source-file.ts";
import type { TokenBuffer } from "./token.ts";

/*
 * The tree of a file. Every node carries the UTF-16 offsets of what it was made from and the source
 * these count in. Nodes are plain immutable data; what they mean is decided by who reads them: the
 * evaluator, the static readers (`static.ts`), the formatter. What the tree leaves out (comments,
 * white space, separators) is in `SyntaxFile.tokens`.
 */

/** What all nodes have. */
export interface SyntaxNode {
  readonly source: SourceFile;
  readonly start: number;
  readonly end: number;
}

/** A file as it was read. The tree is complete as far as it was understood. */
export interface SyntaxFile {
  readonly source: SourceFile;
  readonly body: Body;
  readonly tokens: TokenBuffer;
  readonly diagnostics: readonly Diagnostic[];
}

/** Attributes and blocks in the order of the source. */
export interface Body extends SyntaxNode {
  readonly kind: "body";
  readonly items: readonly BodyItem[];
}

export type BodyItem = Attribute | Block;

/** `name = expression` */
export interface Attribute extends SyntaxNode {
  readonly kind: "attribute";
  readonly name: string;
  readonly nameEnd: number;
  readonly equalsStart: number;
  readonly expression: Expression;
}

/** `type "label" { ... }` */
export interface Block extends SyntaxNode {
  readonly kind: "block";
  readonly type: string;
  readonly typeEnd: number;
  readonly labels: readonly BlockLabel[];
  /** End of the header: behind the last label, or behind the type. */
  readonly headerEnd: number;
  readonly body: Body;
}

/** A label of a block, quoted or bare. */
export interface BlockLabel extends SyntaxNode {
  readonly kind: "label";
  readonly value: string;
  readonly quoted: boolean;
}

export type Expression =
  | NumberLiteral
  | BooleanLiteral
  | NullLiteral
  | StringLiteral
  | JsonString
  | Template
  | TemplateWrap
  | TemplateJoin
  | ScopeTraversal
  | RelativeTraversal
  | IndexExpression
  | Splat
  | SplatItem
  | FunctionCall
  | Conditional
  | Binary
  | Unary
  | Tuple
  | ObjectConstructor
  | For
  | Parentheses
  | Invalid;

/** A number, as it is written: digits, at most one dot, an exponent. Its value is exact. */
export interface NumberLiteral extends SyntaxNode {
  readonly kind: "number";
  readonly text: string;
}

export interface BooleanLiteral extends SyntaxNode {
  readonly kind: "boolean";
  readonly value: boolean;
}

export interface NullLiteral extends SyntaxNode {
  readonly kind: "null";
}

/** Text without any sequence in it, its escapes resolved. */
export interface StringLiteral extends SyntaxNode {
  readonly kind: "string";
  readonly value: string;
}

/**
 * A string of a JSON file in the place of an expression. It is evaluated as the template it holds;
 * where something is read without evaluation, such as a type or a reference, its text counts.
 */
export interface JsonString extends SyntaxNode {
  readonly kind: "json-string";
  /** The decoded text, as a source whose positions are those in the JSON file. */
  readonly text: SourceFile;
  readonly template: Expression;
}

/** Text with sequences: the parts, converted to strings, one behind the other. */
export interface Template extends SyntaxNode {
  readonly kind: "template";
  readonly parts: readonly Expression[];
}

/** A template that is one interpolation and nothing else: the value itself, of any type. */
export interface TemplateWrap extends SyntaxNode {
  readonly kind: "template-wrap";
  readonly expression: Expression;
}

/** The `%{ for }` of a template: the results of the loop, as strings, one behind the other. */
export interface TemplateJoin extends SyntaxNode {
  readonly kind: "template-join";
  readonly loop: For;
}

/** `.name`, or `[key]` and `.0` with a literal key. */
export type TraversalStep = AttributeStep | IndexStep;

export interface AttributeStep extends SyntaxNode {
  readonly kind: "attribute-step";
  readonly name: string;
}

export interface IndexStep extends SyntaxNode {
  readonly kind: "index-step";
  readonly key: NumberLiteral | StringLiteral | BooleanLiteral | NullLiteral;
}

/** A name in scope and the steps after it: `var.sizes["web"].cpu`. */
export interface ScopeTraversal extends SyntaxNode {
  readonly kind: "scope-traversal";
  readonly root: string;
  readonly rootEnd: number;
  readonly steps: readonly TraversalStep[];
}

/** Literal steps into the result of another expression: `f(x).a[0]`. */
export interface RelativeTraversal extends SyntaxNode {
  readonly kind: "relative-traversal";
  readonly from: Expression;
  readonly steps: readonly TraversalStep[];
}

/** `collection[key]` with a key to evaluate. */
export interface IndexExpression extends SyntaxNode {
  readonly kind: "index";
  readonly collection: Expression;
  readonly key: Expression;
  /** Start of the bracket. */
  readonly openStart: number;
}

/**
 * `from[*].a.b` or `from.*.a.b`: `each` is evaluated for every element, which {@link SplatItem}
 * nodes inside of it stand for. What the two forms take into `each` differs; the tree shows it.
 */
export interface Splat extends SyntaxNode {
  readonly kind: "splat";
  readonly from: Expression;
  readonly each: Expression;
  /** The node inside `each` that stands for the element. */
  readonly item: SplatItem;
  readonly markerStart: number;
  readonly markerEnd: number;
}

/** The element that a {@link Splat} is at. */
export interface SplatItem extends SyntaxNode {
  readonly kind: "splat-item";
}

/** `name(arguments)`, `provider::local::name(arguments)`; `...` expands the last argument. */
export interface FunctionCall extends SyntaxNode {
  readonly kind: "call";
  readonly name: string;
  readonly nameEnd: number;
  readonly arguments: readonly Expression[];
  readonly expandFinal: boolean;
  /** Start of the closing parenthesis, or the end of the call where it is missing. */
  readonly closeStart: number;
}

/** `condition ? whenTrue : whenFalse`, also from `%{ if }` in a template. */
export interface Conditional extends SyntaxNode {
  readonly kind: "conditional";
  readonly condition: Expression;
  readonly whenTrue: Expression;
  readonly whenFalse: Expression;
}

export type BinaryOperator =
  | "||"
  | "&&"
  | "=="
  | "!="
  | "<"
  | "<="
  | ">"
  | ">="
  | "+"
  | "-"
  | "*"
  | "/"
  | "%";

export interface Binary extends SyntaxNode {
  readonly kind: "binary";
  readonly operator: BinaryOperator;
  readonly left: Expression;
  readonly right: Expression;
}

export interface Unary extends SyntaxNode {
  readonly kind: "unary";
  readonly operator: "-" | "!";
  readonly operand: Expression;
}

/** `[a, b]` */
export interface Tuple extends SyntaxNode {
  readonly kind: "tuple";
  readonly elements: readonly Expression[];
}

/** `{ key = value }` */
export interface ObjectConstructor extends SyntaxNode {
  readonly kind: "object";
  readonly items: readonly ObjectItem[];
}

export interface ObjectItem {
  readonly key: ObjectKey;
  readonly value: Expression;
}

/**
 * The key of an object item. A bare name is the key itself and not a reference; `literal` is that
 * name. Other keys are evaluated; a name in parentheses is a reference again.
 */
export interface ObjectKey extends SyntaxNode {
  readonly kind: "object-key";
  readonly literal: string | undefined;
  readonly expression: Expression;
}

/** `[for k, v in c : e if p]` and `{for k, v in c : k => e... if p}` */
export interface For extends SyntaxNode {
  readonly kind: "for";
  readonly keyName: string | undefined;
  readonly valueName: string;
  readonly collection: Expression;
  /** Present in the object form only. */
  readonly key: Expression | undefined;
  readonly value: Expression;
  readonly condition: Expression | undefined;
  /** Whether `...` collects the values of equal keys. */
  readonly group: boolean;
}

export interface Parentheses extends SyntaxNode {
  readonly kind: "parentheses";
  readonly expression: Expression;
}

/** What could not be understood; the problem has been reported. Its value is unknown. */
export interface Invalid extends SyntaxNode {
  readonly kind: "invalid";
}

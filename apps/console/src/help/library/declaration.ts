import type {
  ClassElement,
  Class as ClassNode,
  Directive,
  Function as FunctionNode,
  Statement,
} from "oxc-parser";
import type { ParsedFile } from "./exported-names.ts";

/** What a name is, as users of a library see it. */
export interface Declaration {
  readonly kind: "function" | "class" | "interface" | "type" | "constant";
  /** Without what only the implementation needs. */
  readonly signature: string;
  /** The text of the comment before it; empty where there is none. */
  readonly comment: string;
}

type Variable = Extract<Statement, { type: "VariableDeclaration" }>;
type Declared =
  | FunctionNode
  | ClassNode
  | Variable
  | Extract<Statement, { type: "TSInterfaceDeclaration" | "TSTypeAliasDeclaration" }>;

/** Longest value of a constant that is shown. */
const MAX_VALUE = 400;

/** The declarations of a name in a file: several of a function with overloads, and of a constant and a type of one name. */
export function declarationsOf(file: ParsedFile, name: string): readonly Declaration[] {
  const found: Declaration[] = [];
  for (const statement of file.program.body) {
    const declared = declaredBy(statement);
    if (declared === undefined || !namesOf(declared).includes(name)) continue;
    found.push(describe(file, declared, statement.start, name));
  }
  // The last of several is the implementation, which nobody calls by its own signature.
  const functions = found.filter(({ kind }) => kind === "function");
  return functions.length > 1 ? found.slice(0, -1) : found;
}

function declaredBy(statement: Statement | Directive): Declared | undefined {
  const inner =
    statement.type === "ExportNamedDeclaration" || statement.type === "ExportDefaultDeclaration"
      ? statement.declaration
      : statement;
  return inner !== null && inner !== undefined && isDeclared(inner) ? inner : undefined;
}

const DECLARED: ReadonlySet<string> = new Set<Declared["type"]>([
  "FunctionDeclaration",
  "TSDeclareFunction",
  "ClassDeclaration",
  "TSInterfaceDeclaration",
  "TSTypeAliasDeclaration",
  "VariableDeclaration",
]);

function isDeclared(node: { readonly type: string }): node is Declared {
  return DECLARED.has(node.type);
}

function namesOf(declared: Declared): readonly string[] {
  if (declared.type === "VariableDeclaration") {
    return declared.declarations.flatMap(({ id }) => (id.type === "Identifier" ? [id.name] : []));
  }
  return declared.id === null ? [] : [declared.id.name];
}

function describe(file: ParsedFile, declared: Declared, start: number, name: string): Declaration {
  const { text } = file;
  const comment = commentBefore(file, start);
  const written = (end: number): string => text.slice(declared.start, end);
  switch (declared.type) {
    case "TSInterfaceDeclaration":
      return { kind: "interface", signature: written(declared.end), comment };
    case "TSTypeAliasDeclaration":
      return { kind: "type", signature: written(declared.end), comment };
    case "VariableDeclaration":
      return { kind: "constant", signature: constantText(file, declared, name), comment };
    case "ClassDeclaration":
    case "ClassExpression": {
      const members = declared.body.body.flatMap((member) => memberText(file, member));
      const head = written(declared.body.start).trim();
      const signature = `${head} {\n${members.map((member) => `  ${member}\n`).join("")}}`;
      return { kind: "class", signature, comment };
    }
    case "FunctionDeclaration":
    case "FunctionExpression":
    case "TSDeclareFunction":
    case "TSEmptyBodyFunctionExpression": {
      const signature = ended(written(declared.body?.start ?? declared.end));
      return { kind: "function", signature, comment };
    }
    default:
      return declared satisfies never;
  }
}

function constantText({ text }: ParsedFile, declared: Variable, name: string): string {
  const one = declared.declarations.find(({ id }) => id.type === "Identifier" && id.name === name);
  if (one === undefined) return `const ${name};`;
  const { id, init } = one;
  const head = `${declared.kind} ${text.slice(id.start, id.end)}`;
  if (init === null || (id.type === "Identifier" && id.typeAnnotation)) return `${head};`;
  if (init.type === "ArrowFunctionExpression") {
    return `${head} = ${text.slice(init.start, init.body.start).trim()} …;`;
  }
  const value = text.slice(init.start, init.end);
  return value.length > MAX_VALUE ? `${head} = …;` : `${head} = ${value};`;
}

/** A member of a class with its comment; none of one that only the class itself sees. */
function memberText(file: ParsedFile, member: ClassElement): readonly string[] {
  const { text } = file;
  if (member.type === "StaticBlock" || member.type === "TSIndexSignature") return [];
  if (member.key.type === "PrivateIdentifier" || member.accessibility === "private") return [];
  const written = (end: number) => ended(text.slice(member.start, end));
  let signature = written(member.end);
  if ("typeAnnotation" in member && member.typeAnnotation) {
    signature = written(member.typeAnnotation.end);
  } else if (member.type === "MethodDefinition") {
    signature = written(member.value.body?.start ?? member.end);
  }
  const comment = rawCommentBefore(file, member.start);
  return comment === undefined ? [signature] : [comment, signature];
}

function ended(text: string): string {
  return `${text.trim().replace(/;$/, "")};`;
}

function rawCommentBefore({ text, comments }: ParsedFile, start: number): string | undefined {
  const found = comments.findLast(({ end }) => end <= start);
  if (found?.type !== "Block" || !found.value.startsWith("*")) return undefined;
  return text.slice(found.end, start).trim() === ""
    ? text.slice(found.start, found.end)
    : undefined;
}

/** The text of the comment before an offset, without its signs. */
function commentBefore(file: ParsedFile, start: number): string {
  const raw = rawCommentBefore(file, start);
  if (raw === undefined) return "";
  return raw
    .slice("/**".length, -"*/".length)
    .split("\n")
    .map((line) => line.replace(/^\s*\* ?/, ""))
    .join("\n")
    .trim();
}

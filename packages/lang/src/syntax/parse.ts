import type { Expression, ScopeTraversal, SyntaxFile } from "./ast.ts";
import { parseBody } from "./body-parser.ts";
import { Cursor, type Grammar } from "./cursor.ts";
import { type Diagnostic, sortDiagnostics } from "./diagnostic.ts";
import { parseExpression as parseExpressionAt } from "./expression-parser.ts";
import type { SyntaxLimits } from "./limits.ts";
import { openSource, type SourceInput } from "./open-source.ts";
import { ProblemCollector } from "./problem.ts";
import { type ScanMode, scan } from "./scanner.ts";
import { parseTemplate as parseTemplateAt } from "./template-parser.ts";
import { TokenKind } from "./token.ts";

/** Result of parsing something that is not a whole file. */
export interface Parsed<T> {
  readonly value: T;
  readonly diagnostics: readonly Diagnostic[];
}

const GRAMMAR: Grammar = { expression: parseExpressionAt, template: parseTemplateAt };

/**
 * Parses a file in native syntax. Never throws for anything in the text: mistakes are diagnostics,
 * and the tree holds what was understood around them.
 */
export function parseFile(input: SourceInput, limits?: SyntaxLimits): SyntaxFile {
  const p = begin(input, "normal", limits);
  const body = parseBody(p, TokenKind.EndOfFile, p.source.contentStart);
  const diagnostics = sortDiagnostics(p.problems.diagnostics);
  return { source: p.source, body, tokens: p.tokens, diagnostics };
}

/** Parses one expression, which must take up the whole text. Line endings do not count in it. */
export function parseExpression(input: SourceInput, limits?: SyntaxLimits): Parsed<Expression> {
  const p = begin(input, "normal", limits);
  p.setNewlines(false);
  const value = parseExpressionAt(p);
  if (!p.panicking && !p.at(TokenKind.EndOfFile)) {
    p.error("LANG_EXPRESSION_EXTRA", "The expression must end here: there is more than one.");
  }
  return { value, diagnostics: p.problems.diagnostics };
}

/** Parses the text of a template, as it stands in a template file or a JSON string. */
export function parseTemplate(input: SourceInput, limits?: SyntaxLimits): Parsed<Expression> {
  const p = begin(input, "template", limits);
  const value = parseTemplateAt(p, TokenKind.EndOfFile, false, p.source.contentStart);
  return { value, diagnostics: p.problems.diagnostics };
}

/**
 * Parses a reference by itself, such as an address on a command line: a name and steps with
 * literal keys. Undefined where it is anything else; the diagnostics say what.
 */
export function parseTraversal(
  input: SourceInput,
  limits?: SyntaxLimits,
): Parsed<ScopeTraversal | undefined> {
  const { value, diagnostics } = parseExpression(input, limits);
  if (diagnostics.length > 0) return { value: undefined, diagnostics };
  if (value.kind === "scope-traversal") return { value, diagnostics };
  const problems = new ProblemCollector(value.source, 1);
  problems.error(
    "LANG_TRAVERSAL",
    "A reference is a name, followed by attribute names and literal indexes.",
    value.start,
    value.end,
  );
  return { value: undefined, diagnostics: problems.diagnostics };
}

function begin(input: SourceInput, mode: ScanMode, limits: SyntaxLimits | undefined): Cursor {
  const opened = openSource(input, limits);
  const tokens = scan(opened.source, mode, opened.problems, opened.limits);
  return new Cursor(tokens, opened.problems, opened.limits, GRAMMAR);
}

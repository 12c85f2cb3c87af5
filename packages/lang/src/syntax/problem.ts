import type { Diagnostic } from "./diagnostic.ts";
import { sourceRange } from "./diagnostic.ts";
import type { SourceFile } from "./source-file.ts";

/** The kinds of problems that the syntax layer reports, with their summaries. */
export const SYNTAX_PROBLEMS = {
  LANG_ENCODING: "Invalid character encoding",
  LANG_CHARACTER: "Invalid character",
  LANG_OPERATOR: "Unsupported operator",
  LANG_COMMENT: "Unterminated comment",
  LANG_STRING_NEWLINE: "Invalid multi-line string",
  LANG_STRING_UNTERMINATED: "Unterminated template string",
  LANG_STRING_LITERAL: "Invalid string literal",
  LANG_ESCAPE: "Invalid escape sequence",
  LANG_NUMBER: "Invalid number literal",
  LANG_ATTRIBUTE_DUPLICATE: "Attribute redefined",
  LANG_ARGUMENT_NAME: "Invalid argument name",
  LANG_ARGUMENT_END: "Missing newline after argument",
  LANG_ARGUMENT_COMMA: "Unexpected comma after argument",
  LANG_BODY_ITEM: "Argument or block definition required",
  LANG_BLOCK: "Invalid block definition",
  LANG_BLOCK_UNCLOSED: "Unclosed configuration block",
  LANG_BLOCK_SINGLE_LINE: "Invalid single-argument block definition",
  LANG_BLOCK_END: "Missing newline after block definition",
  LANG_EXPRESSION: "Invalid expression",
  LANG_EXPRESSION_MISSING: "Missing expression",
  LANG_EXPRESSION_EXTRA: "Extra characters after expression",
  LANG_PARENTHESES: "Unbalanced parentheses",
  LANG_CONDITIONAL: "Missing false expression in conditional",
  LANG_ATTRIBUTE_NAME: "Invalid attribute name",
  LANG_LEGACY_INDEX: "Invalid legacy index syntax",
  LANG_SPLAT: "Invalid splat expression",
  LANG_INDEX_BRACKET: "Missing close bracket on index",
  LANG_FUNCTION_NAME: "Missing function name",
  LANG_CALL_ARGUMENTS: "Invalid function arguments",
  LANG_CALL_UNTERMINATED: "Unterminated function call",
  LANG_TUPLE_SEPARATOR: "Missing item separator",
  LANG_TUPLE_UNTERMINATED: "Unterminated tuple constructor expression",
  LANG_OBJECT_VALUE: "Missing attribute value",
  LANG_OBJECT_KEY: "Missing key/value separator",
  LANG_OBJECT_SEPARATOR: "Missing attribute separator",
  LANG_OBJECT_UNTERMINATED: "Unterminated object constructor expression",
  LANG_FOR: "Invalid 'for' expression",
  LANG_TEMPLATE_SEQUENCE: "Extra characters after interpolation expression",
  LANG_TEMPLATE_UNCLOSED: "Unclosed template interpolation sequence",
  LANG_TEMPLATE_DIRECTIVE: "Invalid template directive",
  LANG_TEMPLATE_UNBALANCED: "Unbalanced template directives",
  LANG_TRAVERSAL: "Invalid reference",
  LANG_STATIC: "Invalid static expression",
  LANG_JSON: "Invalid JSON",
  LANG_JSON_KEYWORD: "Invalid JSON keyword",
  LANG_JSON_NUMBER: "Invalid JSON number",
  LANG_JSON_STRING: "Invalid JSON string",
  LANG_JSON_ROOT: "Root value must be object",
  LANG_JSON_DUPLICATE: "Duplicate JSON object property",
  LANG_LIMIT_BYTES: "Configuration file too large",
  LANG_LIMIT_TOKENS: "Configuration file too complex",
  LANG_LIMIT_DEPTH: "Configuration nested too deeply",
  LANG_LIMIT_NUMBER: "Number out of range",
  LANG_LIMIT_ERRORS: "Too many errors",
} as const;

/** Code of a kind of syntax problem. */
export type SyntaxProblemCode = keyof typeof SYNTAX_PROBLEMS;

/** What a syntax problem may say besides its code and detail. */
export interface ProblemExtra {
  /** Replaces the summary of the code where a more exact one exists. */
  readonly summary?: string;
  /** Start of the context; it ends with the subject. */
  readonly contextStart?: number;
}

/**
 * Collects the problems of one source, at most `maxErrors`; after that one last problem says that
 * there are more and everything else is dropped.
 */
export class ProblemCollector {
  readonly source: SourceFile;
  readonly diagnostics: Diagnostic[] = [];
  readonly #maxErrors: number;
  #closed = false;

  constructor(source: SourceFile, maxErrors: number) {
    this.source = source;
    this.#maxErrors = maxErrors;
  }

  /** Drops everything from here on: what is reported after a file was given up is not its fault. */
  close(): void {
    this.#closed = true;
  }

  error(
    code: SyntaxProblemCode,
    detail: string,
    start: number,
    end: number,
    extra: ProblemExtra = {},
  ): void {
    if (this.#closed) return;
    const subject = sourceRange(this.source, start, end);
    if (this.diagnostics.length === this.#maxErrors) {
      this.diagnostics.push({
        severity: "error",
        code: "LANG_LIMIT_ERRORS",
        summary: SYNTAX_PROBLEMS.LANG_LIMIT_ERRORS,
        detail: `The first ${this.#maxErrors} errors of this file are shown; there are more.`,
        subject,
      });
      this.close();
      return;
    }
    this.diagnostics.push({
      severity: "error",
      code,
      summary: extra.summary ?? SYNTAX_PROBLEMS[code],
      detail,
      subject,
      ...(extra.contextStart !== undefined && {
        context: sourceRange(this.source, extra.contextStart, end),
      }),
    });
  }
}

import type { Diagnostic } from "./diagnostic.ts";
import { diagnosticSnippet } from "./snippet.ts";
import type { LocatedRange, Position } from "./source-file.ts";

/** A position as tools that read the reference command's JSON output expect it. */
export interface JsonPosition {
  readonly line: number;
  readonly column: number;
  readonly byte: number;
}

/** A problem as a JSON value, in the shape of the reference command's `-json` output plus ours. */
export interface JsonDiagnostic {
  readonly severity: string;
  readonly code: string;
  readonly summary: string;
  readonly detail: string;
  readonly address?: string;
  readonly range?: {
    readonly filename: string;
    readonly start: JsonPosition;
    readonly end: JsonPosition;
  };
  readonly snippet?: {
    readonly context: string | null;
    readonly code: string;
    readonly start_line: number;
    /** Offsets into `code`, in bytes. */
    readonly highlight_start_offset: number;
    readonly highlight_end_offset: number;
    readonly values: readonly { readonly traversal: string; readonly statement: string }[];
    readonly function_call?: { readonly name: string; readonly signature: string };
  };
}

/** Turns a problem into a JSON value. */
export function diagnosticToJson(diagnostic: Diagnostic): JsonDiagnostic {
  const { severity, code, summary, detail, address, subject, values = [], call } = diagnostic;
  const snippet = diagnosticSnippet(diagnostic);
  const range =
    subject === undefined ? undefined : subject.source.locate(subject.start, subject.end);
  const text = snippet?.lines.join("\n") ?? "";
  return {
    severity,
    code,
    summary,
    detail,
    ...(address !== undefined && { address }),
    ...(range !== undefined && { range: jsonRange(range) }),
    ...(snippet !== undefined && {
      snippet: {
        context: snippet.context ?? null,
        code: text,
        start_line: snippet.startLine,
        highlight_start_offset: Buffer.byteLength(text.slice(0, snippet.highlightStart)),
        highlight_end_offset: Buffer.byteLength(text.slice(0, snippet.highlightEnd)),
        values: values.map(({ traversal, statement }) => ({ traversal, statement })),
        ...(call !== undefined && {
          function_call: { name: call.name, signature: call.signature },
        }),
      },
    }),
  };
}

function jsonRange({ filename, start, end }: LocatedRange) {
  return { filename, start: jsonPosition(start), end: jsonPosition(end) };
}

function jsonPosition({ line, column, byte }: Position): JsonPosition {
  return { line, column, byte };
}

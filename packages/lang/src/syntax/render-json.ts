import { CtyError, encodeTypeJson, type Type } from "@stackwright/cty";
import type { CalledParameter, Diagnostic, FunctionCallFrame } from "./diagnostic.ts";
import { diagnosticSnippet } from "./snippet.ts";
import type { LocatedRange, Position } from "./source-file.ts";

/** A position as tools that read the reference command's JSON output expect it. */
export interface JsonPosition {
  readonly line: number;
  readonly column: number;
  readonly byte: number;
}

/** A parameter of a function; the type in the JSON form of types, such as `["list","string"]`. */
export interface JsonFunctionParameter {
  readonly name: string;
  readonly type: unknown;
}

/** The signature of a function. */
export interface JsonFunction {
  /** The last part of the name, without a namespace. */
  readonly name: string;
  readonly params: readonly JsonFunctionParameter[];
  readonly variadic_param?: JsonFunctionParameter;
  readonly return_type: unknown;
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
    readonly function_call?: {
      /** The name as it was called, with its namespace. */
      readonly called_as: string;
      readonly signature: JsonFunction;
    };
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
          function_call: { called_as: call.calledAs, signature: jsonFunction(call) },
        }),
      },
    }),
  };
}

function jsonFunction({ name, parameters, rest, returns }: FunctionCallFrame): JsonFunction {
  return {
    name: name.slice(name.lastIndexOf(":") + 1),
    params: parameters.map(jsonParameter),
    ...(rest !== undefined && { variadic_param: jsonParameter(rest) }),
    return_type: jsonType(returns),
  };
}

function jsonParameter({ name, type }: CalledParameter): JsonFunctionParameter {
  return { name, type: jsonType(type) };
}

/** Types without a JSON form are those of values inside of one process, and any type to readers. */
function jsonType(type: Type): unknown {
  try {
    return JSON.parse(encodeTypeJson(type)) as unknown;
  } catch (error) {
    if (!(error instanceof CtyError)) throw error;
    return "dynamic";
  }
}

function jsonRange({ filename, start, end }: LocatedRange) {
  return { filename, start: jsonPosition(start), end: jsonPosition(end) };
}

function jsonPosition({ line, column, byte }: Position): JsonPosition {
  return { line, column, byte };
}

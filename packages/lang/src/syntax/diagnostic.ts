import { groupBy } from "@stackwright/base/group-by";
import type { Type } from "@stackwright/cty";
import type { SourceFile, SourceRange } from "./source-file.ts";

/** How bad a problem is: an error stops what was asked for, a warning does not. */
export type Severity = "error" | "warning";

/** What a reference in the problem's expression stood for when it was evaluated. */
export interface ObservedValue {
  /** The reference as written, such as `var.sizes["web"]`. */
  readonly traversal: string;
  /** What it was, such as `is "dev"`, `is a list of 3 elements`, `will be known only after apply`. */
  readonly statement: string;
}

/** One parameter of the function of a {@link FunctionCallFrame}. */
export interface CalledParameter {
  readonly name: string;
  readonly type: Type;
}

/** The function call in which a problem arose. */
export interface FunctionCallFrame {
  readonly name: string;
  /** The name as it was called, with its namespace. */
  readonly calledAs: string;
  /** The signature as documentation prints it. */
  readonly signature: string;
  readonly parameters: readonly CalledParameter[];
  /** What any number of further arguments must be. */
  readonly rest?: CalledParameter;
  /** Type of the result, as far as it follows from the types of the parameters. */
  readonly returns: Type;
}

/** One problem, complete enough to be shown without the thing that found it. */
export interface Diagnostic {
  readonly severity: Severity;
  /** Stable identification of the kind of problem. The wording of the texts is not stable. */
  readonly code: string;
  /** A few words. */
  readonly summary: string;
  /** One or more sentences: what was expected, what was found, what may help. */
  readonly detail: string;
  /** The exact piece of source that is to blame. */
  readonly subject?: SourceRange;
  /** A larger piece around the subject that makes it understandable. */
  readonly context?: SourceRange;
  /** Address of the object being worked on, such as `module.net.aws_vpc.main`. */
  readonly address?: string;
  /** Values of the references in the expression to blame, already redacted. */
  readonly values?: readonly ObservedValue[];
  readonly call?: FunctionCallFrame;
  /** A condition does not hold, of what the address names. */
  readonly isFailedCondition?: true;
  /** The source of the provider that is not available, in full canonical form. */
  readonly provider?: string;
}

/** A range of a source. */
export function sourceRange(source: SourceFile, start: number, end: number): SourceRange {
  return { source, start, end: Math.max(start, end) };
}

/** Whether any of the problems is an error. */
export function hasErrors(diagnostics: readonly Diagnostic[]): boolean {
  return diagnostics.some((diagnostic) => diagnostic.severity === "error");
}

/**
 * Orders problems for a reader: by file name, then by position, errors before warnings at one
 * place. Problems without a place come first. The sort is stable.
 */
export function sortDiagnostics(diagnostics: readonly Diagnostic[]): Diagnostic[] {
  return diagnostics.toSorted((a, b) => {
    if (a.subject === undefined || b.subject === undefined) {
      return Number(a.subject !== undefined) - Number(b.subject !== undefined);
    }
    const fileA = a.subject.source.file.name;
    const fileB = b.subject.source.file.name;
    if (fileA !== fileB) return fileA < fileB ? -1 : 1;
    const startA = a.subject.source.fileOffset(a.subject.start);
    const startB = b.subject.source.fileOffset(b.subject.start);
    if (startA !== startB) return startA - startB;
    return Number(a.severity === "warning") - Number(b.severity === "warning");
  });
}

/** Most places of repeated warnings that are listed. */
const MAX_PLACES = 3;

/**
 * Makes one of warnings that say the same at several places: the first stays, with the number of
 * the others and where some of them are. Errors stay as they are.
 */
export function consolidateWarnings(diagnostics: readonly Diagnostic[]): Diagnostic[] {
  const groups = groupBy(
    diagnostics.filter(({ severity }) => severity === "warning"),
    ({ code, summary }) => `${code} ${summary}`,
  );
  return diagnostics.flatMap((diagnostic) => {
    const { code, summary, severity } = diagnostic;
    const group = severity === "warning" ? (groups.get(`${code} ${summary}`) ?? []) : [];
    if (group.length < 2) return [diagnostic];
    if (group[0] !== diagnostic) return [];
    const others = group.slice(1);
    const places = others.flatMap(({ subject }) =>
      subject === undefined ? [] : [placeOf(subject)],
    );
    const listed = [...new Set(places)].slice(0, MAX_PLACES);
    const where = listed.length === 0 ? "" : `, such as at ${listed.join(", ")}`;
    const noun = others.length === 1 ? "similar warning" : "similar warnings";
    const detail = `${diagnostic.detail}\n\n(and ${others.length} more ${noun}${where})`;
    return [{ ...diagnostic, detail }];
  });
}

function placeOf({ source, start, end }: SourceRange): string {
  const { filename, start: at } = source.locate(start, end);
  return `${filename} line ${at.line}`;
}

import { blockContext } from "./block-context.ts";
import type { Diagnostic } from "./diagnostic.ts";

/** The lines of source that a problem is shown with. */
export interface Snippet {
  /** The block around, such as `resource "aws_vpc" "main"`. */
  readonly context: string | undefined;
  /** Number of the first line, counted from 1. */
  readonly startLine: number;
  readonly lines: readonly string[];
  /** The subject in the lines joined by line feeds, in UTF-16 units. */
  readonly highlightStart: number;
  readonly highlightEnd: number;
}

/** Longest snippet, in lines; a longer one is cut around the subject. */
const MAX_LINES = 12;
/** Longest line that is shown whole, in UTF-16 units. Minified JSON is one line. */
const MAX_LINE_LENGTH = 400;

/** The snippet of a problem, or undefined where it has no place in any source. */
export function diagnosticSnippet(diagnostic: Diagnostic): Snippet | undefined {
  const { subject, context = subject } = diagnostic;
  if (subject === undefined || context === undefined) return undefined;
  const { file } = subject.source;
  if (file.text === "") return undefined;
  const from = subject.source.fileOffset(subject.start);
  const to = subject.source.fileOffset(Math.max(subject.end, subject.start));
  const subjectLine = file.position(from).line;
  const lastSubjectLine = file.position(Math.max(from, to - 1)).line;
  let startLine = file.position(context.source.fileOffset(context.start)).line;
  startLine = Math.min(subjectLine, Math.max(startLine, subjectLine - MAX_LINES + 1));
  const endLine = Math.min(lastSubjectLine, startLine + MAX_LINES - 1);
  const lines: string[] = [];
  for (let line = startLine; line <= endLine; line++) lines.push(file.lineText(line));
  const base = file.lineStart(startLine);
  // Offsets count the carriage returns that the lines do not show.
  const shownOffset = (offset: number): number => {
    const { line } = file.position(offset);
    const inLine = Math.min(offset - file.lineStart(line), file.lineText(line).length);
    return lines.slice(0, line - startLine).reduce((sum, text) => sum + text.length + 1, inLine);
  };
  const length = lines.join("\n").length;
  const highlightStart = Math.min(from < base ? 0 : shownOffset(from), length);
  const lastShown = endLine < lastSubjectLine;
  const highlightEnd = Math.max(
    highlightStart,
    lastShown ? length : Math.min(shownOffset(to), length),
  );
  const shape = { context: blockContext(subject), startLine };
  if (lines.length === 1 && length > MAX_LINE_LENGTH) {
    return { ...shape, ...cutLine(lines[0] ?? "", highlightStart, highlightEnd) };
  }
  return { ...shape, lines, highlightStart, highlightEnd };
}

function cutLine(line: string, start: number, end: number): Omit<Snippet, "context" | "startLine"> {
  const margin = MAX_LINE_LENGTH / 4;
  const from = Math.max(0, start - margin);
  const to = Math.min(line.length, Math.max(end, start), start + MAX_LINE_LENGTH) + margin;
  const before = from > 0 ? "…" : "";
  const after = to < line.length ? "…" : "";
  const text = before + line.slice(from, to) + after;
  const highlightStart = before.length + start - from;
  const highlightEnd = Math.min(before.length + end - from, text.length);
  return { lines: [text], highlightStart, highlightEnd };
}

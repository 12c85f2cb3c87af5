import { type Diagnostic, diagnosticToJson } from "@stackwright/lang";
import type { RunLogEvent } from "../domain/run-log-event.ts";

/** Characters of a snippet with the values that are named in it: an event that is too large is cut to its type. */
const MAX_SNIPPET = 16 * 1024;

/** A diagnostic as an event of the log of a run. `range` and `snippet` are those of the reference command's `-json` output. */
export function diagnosticEvent(diagnostic: Diagnostic): RunLogEvent {
  const { severity, code, summary, detail, address, subject } = diagnostic;
  const place = subject?.source.locate(subject.start, subject.end);
  const { range, snippet } = diagnosticToJson(diagnostic);
  const isSmall = snippet !== undefined && JSON.stringify(snippet).length <= MAX_SNIPPET;
  return {
    type: "diagnostic",
    severity,
    code,
    summary,
    detail,
    ...(address !== undefined && { address }),
    ...(place !== undefined &&
      subject !== undefined && {
        file: place.filename,
        line: place.start.line,
        code_lines: linesOf(subject.source.file.text, place.start.line, place.end.line),
      }),
    ...(range !== undefined && { range }),
    ...(isSmall && { snippet }),
  };
}

/** Lines of a source that an event shows, and characters of one. */
const MAX_LINES = 4;
const MAX_LINE = 200;

/** What is written where something is wrong, from the first line on. */
function linesOf(text: string, from: number, to: number): readonly string[] {
  return text
    .split("\n", from + MAX_LINES)
    .slice(from - 1, Math.min(to, from + MAX_LINES - 1))
    .map((line) => line.replace(/\r$/, "").slice(0, MAX_LINE));
}

/** What is wrong, in one text. */
export function firstError(diagnostics: readonly Diagnostic[]): string {
  const first = diagnostics.find(({ severity }) => severity === "error");
  if (first === undefined) return "the plan could not be made";
  return first.detail === "" ? first.summary : `${first.summary}: ${first.detail}`;
}

import type { Diagnostic } from "@stackwright/lang";
import type { RunLogEvent } from "../domain/run-log-event.ts";

/** A diagnostic as an event of the log of a run. */
export function diagnosticEvent({
  severity,
  code,
  summary,
  detail,
  address,
  subject,
}: Diagnostic): RunLogEvent {
  const place = subject?.source.locate(subject.start, subject.end);
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

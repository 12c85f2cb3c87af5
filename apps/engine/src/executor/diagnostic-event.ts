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
    ...(place !== undefined && { file: place.filename, line: place.start.line }),
  };
}

/** What is wrong, in one text. */
export function firstError(diagnostics: readonly Diagnostic[]): string {
  const first = diagnostics.find(({ severity }) => severity === "error");
  if (first === undefined) return "the plan could not be made";
  return first.detail === "" ? first.summary : `${first.summary}: ${first.detail}`;
}

import type { RunLogEvent } from "../domain/run-log-event.ts";

/** Bytes of an event: no segment outgrows a resource. */
export const EVENT_BYTES = 48 * 1024;
/** Characters that stay of each text: a character has at most six bytes in JSON, and six texts are kept of one event. */
const KEPT_CHARACTERS = 1_024;
const CUT = "… (cut)";

/** What readers need of the events that say why something failed, and of lines of programs. */
const KEPT_TEXTS: Readonly<Record<string, readonly string[]>> = {
  diagnostic: ["severity", "code", "summary", "detail", "address", "file"],
  log: ["line", "text"],
  "provision-output": ["address", "provisioner", "line"],
};

/** An event as a log stores it: one that is too long has the beginnings of its texts, or its type alone. */
export function fittingEvent(event: RunLogEvent): RunLogEvent {
  if (Buffer.byteLength(JSON.stringify(event)) <= EVENT_BYTES) return event;
  const texts = (KEPT_TEXTS[event.type] ?? []).flatMap((name): [string, string][] => {
    const text = event[name];
    return typeof text === "string" ? [[name, beginningOf(text)]] : [];
  });
  const { line } = event;
  const place = event.type === "diagnostic" && typeof line === "number" ? { line } : {};
  return { type: event.type, ...Object.fromEntries(texts), ...place, cut: true };
}

function beginningOf(text: string): string {
  if (text.length <= KEPT_CHARACTERS) return text;
  // The last character may have been one of two parts.
  return `${text.slice(0, KEPT_CHARACTERS).toWellFormed()}${CUT}`;
}

import { eventLine, logLine, type RunEvent, type RunLine } from "@stackwright/core";
import { parseAddress } from "@stackwright/lang";
import { compactJson, type JsonNode, objectNode, stringNode } from "@stackwright/tfstate";
import type { StoredRunLogEvent } from "../domain/run-log-event.ts";
import { eventText, isOwnBlock } from "./run-text.ts";

/** Events that are lines of `--json`, by their names there. */
const LINE_EVENTS: Readonly<Record<string, Exclude<RunEvent["type"], "diagnostic">>> = {
  "read-start": "read-start",
  "read-end": "read-end",
  "step-start": "start",
  "step-progress": "progress",
  "step-end": "end",
  ephemeral: "ephemeral",
  provision: "provision",
  "provision-output": "provision-output",
};

/** An event of a run as lines of a structured log; empty for what has none. What has no such form is text. */
export function eventLines(event: StoredRunLogEvent): string {
  const { type, at, address } = event;
  if (type === "diagnostic") return isOwnBlock(event) ? "" : diagnosticLine(event);
  const name = LINE_EVENTS[type];
  if (name === undefined) return textLines(eventText(event), at);
  // An event that was too large is stored without members.
  if (typeof address !== "string") return "";
  // Commands say of it in the plan alone.
  if (event["action"] === "forget" && isDone(event)) return "";
  const { seq: _seq, at: _at, ...members } = event;
  const found = { deposed: "", elapsedMs: 0, ...members, type: name } as unknown as Parameters<
    typeof eventLine
  >[0];
  const line = eventLine(found);
  return line === undefined ? "" : jsonLine({ ...line, message: wordsOf(line, found) }, at);
}

/** A line of `--json`, as a log has it. */
export function jsonLine({ level, message, type, members }: RunLine, at: number): string {
  return `${JSON.stringify({ ...headOf(level, message, at), type, ...members })}\n`;
}

/** {@link jsonLine} with members whose numbers keep all their digits. */
export function exactLine(
  message: string,
  type: string,
  at: number,
  members: Readonly<Record<string, JsonNode>>,
): string {
  const head = Object.entries({ ...headOf("info", message, at), type });
  const nodes = Object.fromEntries(head.map(([name, text]) => [name, stringNode(text)]));
  return `${compactJson(objectNode({ ...nodes, ...members }))}\n`;
}

function headOf(level: string, message: string, at: number) {
  return {
    "@level": level,
    "@message": message,
    "@module": "stackwright.ui",
    "@timestamp": new Date(at).toISOString(),
  };
}

/** Text as lines that commands print. One that they would read as an object is put into one, as its message. */
export function textLines(text: string, at: number): string {
  if (text === "") return "";
  const lines = text.endsWith("\n") ? text.slice(0, -1).split("\n") : text.split("\n");
  return lines.map((one) => (isJson(one) ? jsonLine(logLine(one), at) : `${one}\n`)).join("");
}

/** Whether a command takes a line for an object: objects, and null. */
function isJson(text: string): boolean {
  const start = text.trimStart();
  return start.startsWith("{") || start.startsWith("null");
}

function isDone({ type, status }: StoredRunLogEvent): boolean {
  return type !== "step-end" || status === "done";
}

/** What commands call the steps of ephemeral objects. */
const EPHEMERAL_WORDS: Readonly<Record<string, string>> = {
  open: "Opening",
  renew: "Renewing",
  close: "Closing",
};

/** The words of some lines differ between the text of commands and their `-json`, or ours: commands print what the message says. */
function wordsOf({ message }: RunLine, event: Parameters<typeof eventLine>[0]): string {
  if (!("address" in event)) return message;
  const { address } = event;
  if (event.type === "ephemeral") {
    const word = EPHEMERAL_WORDS[event.step] ?? event.step;
    if (event.status === "start") return `${address}: ${word}...`;
    const end = event.status === "done" ? "complete" : "errored";
    return `${address}: ${word} ${end} after ${Math.round(event.elapsedMs / 1_000)}s`;
  }
  if ("action" in event && event.action === "import") {
    return message
      .replace(/: import\.\.\./, ": Importing...")
      .replace(/: import complete after \d+s/, ": Import complete");
  }
  if (event.type === "start" && event.deposed !== "") {
    return message.replace(address, () => `${address} (deposed object ${event.deposed})`);
  }
  const { value } = parseAddress(address);
  if (value?.kind !== "resource" || value.mode !== "data") return message;
  return message
    .replace(/: Refreshing\.\.\./, ": Reading...")
    .replace(/: Refresh (complete|errored) after/, ": Read $1 after");
}

function diagnosticLine(event: StoredRunLogEvent): string {
  const of = (name: string): string => {
    const value = event[name];
    return typeof value === "string" ? value : "";
  };
  const isError = event["severity"] === "error";
  const address = of("address");
  const range = rangeOf(event);
  const snippet = range && snippetOf(event);
  const diagnostic = {
    severity: isError ? "error" : "warning",
    summary: of("summary"),
    detail: of("detail"),
    ...(isResourceAddress(address) && { address }),
    ...(range !== undefined && { range }),
    ...(snippet !== undefined && { snippet }),
  };
  const message = `${isError ? "Error" : "Warning"}: ${diagnostic.summary}`;
  const head = headOf(isError ? "error" : "warn", message, event.at);
  return `${JSON.stringify({ ...head, type: "diagnostic", diagnostic })}\n`;
}

/** Commands say of resources alone which one has a problem: checks, outputs and variables are named by the place. */
function isResourceAddress(address: string): boolean {
  const { value } = parseAddress(address);
  return value?.kind === "resource" && !["check", "output", "var"].includes(value.type);
}

/** Where a problem is. Events of an earlier release have the file and the line alone. */
function rangeOf({ range, file, line }: StoredRunLogEvent): object | undefined {
  if (typeof range === "object" && range !== null) return range;
  if (typeof file !== "string" || typeof line !== "number") return undefined;
  const position = { line, column: 1, byte: 0 };
  return { filename: file, start: position, end: position };
}

/** A snippet as `-json` has it, offsets in bytes of the code. */
interface Snippet {
  readonly code: string;
  readonly start_line: number;
  readonly highlight_start_offset: number;
  readonly highlight_end_offset: number;
  readonly function_call?: unknown;
}

/**
 * The lines of source from the one of the problem on, as commands show no lines of the block around. The marked part is within them: a text that
 * had a secret is shorter than it was.
 */
function snippetOf({ snippet, line: subjectLine }: StoredRunLogEvent): Snippet | undefined {
  if (!isSnippet(snippet)) return undefined;
  const { function_call: stored, ...members } = snippet;
  const { code, start_line: first } = members;
  const call = callOf(stored);
  const lines = code.split("\n");
  const skipped =
    typeof subjectLine === "number"
      ? Math.min(Math.max(0, subjectLine - first), lines.length - 1)
      : 0;
  const text = lines.slice(skipped).join("\n");
  const cut = Buffer.byteLength(code) - Buffer.byteLength(text);
  const within = (offset: number, least: number): number =>
    Math.max(least, Math.min(offset - cut, Buffer.byteLength(text)));
  const from = within(snippet.highlight_start_offset, 0);
  return {
    ...members,
    code: text,
    start_line: first + skipped,
    highlight_start_offset: from,
    highlight_end_offset: within(snippet.highlight_end_offset, from),
    ...(call !== undefined && { function_call: call }),
  };
}

/**
 * The function whose call has the problem, with its parameters. Events of an earlier release have it as text, `name(first, rest...)`, without
 * types; commands print a line that has the text, or something else, as it is.
 */
function callOf(stored: unknown): object | undefined {
  if (typeof stored !== "object" || stored === null) return undefined;
  const { name, signature, called_as: calledAs } = stored as Readonly<Record<string, unknown>>;
  if (typeof calledAs === "string" && isSignature(signature)) return stored;
  if (typeof name !== "string" || typeof signature !== "string") return undefined;
  const [, list] = /\((.*)\)$/s.exec(signature) ?? [];
  if (list === undefined) return undefined;
  const names = list === "" ? [] : list.split(", ");
  const rest = names.at(-1)?.endsWith("...") === true ? names.pop()?.slice(0, -3) : undefined;
  const parameter = (of: string) => ({ name: of, type: "dynamic" });
  return {
    called_as: name,
    signature: {
      name,
      params: names.map(parameter),
      ...(rest !== undefined && { variadic_param: parameter(rest) }),
      return_type: "dynamic",
    },
  };
}

function isSignature(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return false;
  const { name, params } = value as Readonly<Record<string, unknown>>;
  return typeof name === "string" && Array.isArray(params);
}

function isSnippet(value: unknown): value is Snippet {
  if (typeof value !== "object" || value === null) return false;
  const of = value as Partial<Snippet>;
  const numbers = [of.start_line, of.highlight_start_offset, of.highlight_end_offset];
  return typeof of.code === "string" && numbers.every((one) => typeof one === "number");
}

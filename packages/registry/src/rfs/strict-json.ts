import { invalidField } from "../errors.ts";

const MAX_DEPTH = 16;

/**
 * Reads the JSON object of a request body. Stricter than `JSON.parse` in one point: an object that
 * has a key twice is refused, as which of the two counts would depend on the reader.
 *
 * Throws `REGISTRY_INVALID_FIELD` with `no-body`, `not-json` or `duplicate`.
 */
export function parseBody(body: Uint8Array | undefined): Readonly<Record<string, unknown>> {
  if (body === undefined || body.byteLength === 0) {
    throw invalidField("body", "no-body", "the request has no body");
  }
  let text: string;
  let value: unknown;
  try {
    text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(body);
    value = JSON.parse(text);
  } catch {
    throw notJson();
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) throw notJson();
  checkKeys(text);
  return value as Readonly<Record<string, unknown>>;
}

/** Looks for keys that occur twice in one object, in a text that is known to be JSON. */
function checkKeys(text: string): void {
  /** The keys of each open object; undefined for an open array. */
  const open: (Set<string> | undefined)[] = [];
  for (let at = 0; at < text.length; at += 1) {
    const letter = text[at];
    if (letter === "{" || letter === "[") {
      open.push(letter === "{" ? new Set() : undefined);
      if (open.length > MAX_DEPTH) throw notJson();
    } else if (letter === "}" || letter === "]") {
      open.pop();
    } else if (letter === '"') {
      const end = endOfString(text, at);
      const keys = open.at(-1);
      if (keys !== undefined && isKey(text, end)) {
        addKey(keys, JSON.parse(text.slice(at, end)) as string);
      }
      at = end - 1;
    }
  }
}

/** Whether a colon follows, after any amount of white space. */
function isKey(text: string, from: number): boolean {
  let at = from;
  while (" \t\r\n".includes(text[at] ?? "x")) at += 1;
  return text[at] === ":";
}

function addKey(keys: Set<string>, key: string): void {
  if (keys.has(key)) {
    throw invalidField(key.slice(0, 64), "duplicate", `"${key.slice(0, 64)}" is given twice`);
  }
  keys.add(key);
}

/** Index behind the closing quote. */
function endOfString(text: string, start: number): number {
  let at = start + 1;
  while (text[at] !== '"') at += text[at] === "\\" ? 2 : 1;
  return at + 1;
}

function notJson(): Error {
  return invalidField("body", "not-json", "the request body is not a JSON object");
}

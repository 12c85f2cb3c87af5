const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** Nesting that any envelope of either side stays well below. */
const MAX_DEPTH = 16;

export type JsonObject = Readonly<Record<string, unknown>>;

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/**
 * The JSON object in these bytes, or why there is none. Stricter than `JSON.parse`: valid UTF-8 with
 * no byte order mark, bounded nesting, and no object with a name twice, since two readers could then
 * see two different requests.
 */
export function readJsonObject(
  bytes: Uint8Array,
): { readonly object: JsonObject } | { readonly problem: string } {
  let text: string;
  try {
    text = decoder.decode(bytes);
  } catch {
    return { problem: "it is not valid UTF-8" };
  }
  // Before parsing: a deep text costs no stack here.
  const shape = scanShape(text);
  if (shape !== undefined) return { problem: shape };
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    // The message of the parser quotes the text, which may hold secrets.
    return { problem: "it is not JSON" };
  }
  return isJsonObject(value) ? { object: value } : { problem: "it is not a JSON object" };
}

/**
 * One pass over the text that knows strings and brackets alone. In a text that is no JSON its findings mean
 * nothing, and the parser refuses the text afterwards.
 */
function scanShape(text: string): string | undefined {
  /** Names seen per open object; `undefined` for an open array. */
  const open: (Set<string> | undefined)[] = [];
  let atName = false;
  for (let i = 0; i < text.length; i++) {
    switch (text.charCodeAt(i)) {
      case 0x22: {
        const end = endOfString(text, i);
        const names = open.at(-1);
        if (atName && names !== undefined) {
          const name = decodeName(text.slice(i, end + 1));
          if (names.has(name)) return "an object holds a name twice";
          names.add(name);
        }
        atName = false;
        i = end;
        break;
      }
      case 0x7b:
      case 0x5b: {
        const isObject = text[i] === "{";
        open.push(isObject ? new Set() : undefined);
        if (open.length > MAX_DEPTH) return `it is nested deeper than ${MAX_DEPTH}`;
        atName = isObject;
        break;
      }
      case 0x7d:
      case 0x5d:
        open.pop();
        atName = false;
        break;
      case 0x2c:
        atName = open.at(-1) !== undefined;
        break;
      default:
    }
  }
  return undefined;
}

/** Place of the closing quote, or the end of the text. */
function endOfString(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); end !== -1; end = text.indexOf('"', end + 1)) {
    let backslashes = 0;
    while (text.charCodeAt(end - 1 - backslashes) === 0x5c) backslashes++;
    if (backslashes % 2 === 0) return end;
  }
  return text.length;
}

/** Escapes make one name of two spellings. */
function decodeName(quoted: string): string {
  if (!quoted.includes("\\")) return quoted.slice(1, -1);
  try {
    return String(JSON.parse(quoted));
  } catch {
    return quoted;
  }
}

/** Plain data as JSON has it. */
export type JsonValue =
  | null
  | boolean
  | number
  | string
  | readonly JsonValue[]
  | { readonly [name: string]: JsonValue };

export type JsonObject = { readonly [name: string]: JsonValue };

/** Limits of {@link readJsonObject}. */
export interface ReadJsonOptions {
  /** Deepest nesting of objects and arrays that is accepted. @default 16 */
  readonly maxDepth?: number;
}

/** Why bytes are refused. `duplicate-name` has the name, cut to 64 characters. */
export type JsonProblem =
  | { readonly kind: "encoding" | "syntax" | "not-object" }
  | { readonly kind: "depth"; readonly maxDepth: number }
  | { readonly kind: "duplicate-name"; readonly name: string };

export type JsonObjectResult =
  | { readonly object: Readonly<Record<string, unknown>>; readonly problem?: undefined }
  | { readonly object?: undefined; readonly problem: JsonProblem };

export function isJsonObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/**
 * Reads the JSON object in `bytes`. Stricter than `JSON.parse`: valid UTF-8 without a byte order mark, bounded nesting,
 * and no object with a name twice, since two readers could then see two different messages. Never throws, and a problem
 * quotes nothing of the text but the duplicate name: the text may hold secrets.
 */
export function readJsonObject(bytes: Uint8Array, options: ReadJsonOptions = {}): JsonObjectResult {
  const { maxDepth = 16 } = options;
  let text: string;
  try {
    text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return { problem: { kind: "encoding" } };
  }
  // Before parsing: a deep text uses no stack here.
  const shape = scanShape(text, maxDepth);
  // In a text that is not JSON a duplicate name means nothing; the parser decides first.
  if (shape?.kind === "depth") return { problem: shape };
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return { problem: { kind: "syntax" } };
  }
  if (!isJsonObject(value)) return { problem: { kind: "not-object" } };
  return shape === undefined ? { object: value } : { problem: shape };
}

/**
 * One pass over the text that knows strings and brackets only.
 *
 * Invariant: `open` has one entry per unclosed bracket, the names seen so far for an object and `undefined` for an
 * array; `atName` is true exactly between an opening brace or a comma inside an object and the next string.
 */
function scanShape(text: string, maxDepth: number): JsonProblem | undefined {
  const open: (Set<string> | undefined)[] = [];
  let duplicate: JsonProblem | undefined;
  let atName = false;
  for (let i = 0; i < text.length; i++) {
    switch (text.charCodeAt(i)) {
      case 0x22: {
        const end = endOfString(text, i);
        const names = open.at(-1);
        if (atName && names !== undefined) {
          const name = decodeName(text.slice(i, end + 1));
          if (names.has(name)) duplicate ??= { kind: "duplicate-name", name: name.slice(0, 64) };
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
        if (open.length > maxDepth) return { kind: "depth", maxDepth };
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
  return duplicate;
}

/** Index of the closing quote, or the length of the text. */
function endOfString(text: string, start: number): number {
  let at = start + 1;
  while (at < text.length && text[at] !== '"') at += text[at] === "\\" ? 2 : 1;
  return Math.min(at, text.length);
}

/** Escapes give one name several spellings. */
function decodeName(quoted: string): string {
  if (!quoted.includes("\\")) return quoted.slice(1, -1);
  try {
    return String(JSON.parse(quoted));
  } catch {
    return quoted;
  }
}

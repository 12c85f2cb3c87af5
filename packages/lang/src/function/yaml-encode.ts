import { append } from "@stackwright/base/append";
import type { Value } from "@stackwright/cty";

/*
 * YAML in one fixed style, byte for byte what the reference writes, because texts made here end up
 * in resources: block style, keys and strings in double quotes, strings of several lines as literal
 * blocks where their characters allow it, long strings folded at column 80, keys sorted.
 */

const FOLD_COLUMN = 80;

export function encodeYaml(value: Value): string {
  if (isCollection(value) && value.size > 0) return `${collection(value, 0).join("\n")}\n`;
  const text = inline(value, 0, 0);
  const plain = value.isNull || value.type.kind === "number" || value.type.kind === "bool";
  // A plain scalar at the end of a document could continue, so its end is marked.
  return `${text}\n${plain ? "...\n" : ""}`;
}

function isCollection(value: Value): boolean {
  return !value.isNull && ["list", "set", "tuple", "map", "object"].includes(value.type.kind);
}

function isMapping(value: Value): boolean {
  return value.type.kind === "map" || value.type.kind === "object";
}

/** Lines of a collection that is not empty, whose items begin at a column. */
function collection(value: Value, indent: number): string[] {
  const pad = " ".repeat(indent);
  if (!isMapping(value)) {
    return value.elements().flatMap((element) => {
      if (!isCollection(element) || element.size === 0) {
        return [`${pad}- ${inline(element, indent, indent + 2)}`];
      }
      const [first = "", ...rest] = collection(element, indent + 2);
      return [`${pad}- ${first.slice(indent + 2)}`, ...rest];
    });
  }
  const lines: string[] = [];
  for (const [key, element] of value.entries()) {
    const name = `${pad}${quoted(key, undefined)}:`;
    if (isCollection(element) && element.size > 0) {
      // The dashes of a sequence stand below the key, a mapping is indented.
      lines.push(name);
      append(lines, collection(element, isMapping(element) ? indent + 2 : indent));
    } else {
      lines.push(`${name} ${inline(element, indent, name.length + 1)}`);
    }
  }
  return lines;
}

/** A value behind a dash or key, or alone. `column` is where it begins. */
function inline(value: Value, indent: number, column: number): string {
  if (value.isNull) return "null";
  switch (value.type.kind) {
    case "bool":
      return String(value.asBoolean());
    case "number":
      return number(value);
    case "string": {
      const text = value.asString();
      return literalAllowed(text)
        ? literal(text, indent + 2)
        : quoted(text, { indent: indent + 2, column });
    }
    case "capsule":
    case "dynamic":
    case "list":
    case "map":
    case "object":
    case "set":
    case "tuple":
    default:
      return isMapping(value) ? "{}" : "[]";
  }
}

function number(value: Value): string {
  const text = value.asBigFloat().toString();
  if (text === "+Inf") return ".inf";
  return text === "-Inf" ? "-.inf" : text;
}

const SPACE = 0x20;

/** Several lines without characters that need escapes and without space at the end of one. */
function literalAllowed(text: string): boolean {
  if (!text.includes("\n")) return false;
  if (/ (?:\n|$)/.test(text)) return false;
  return !/[^\n\x20-\x7e\xa0-\ud7ff\ue000-\ufffd]|[\u2028\u2029\ufeff]/u.test(text);
}

function literal(text: string, indent: number): string {
  const pad = " ".repeat(indent);
  const hint = /^[ \n]/.test(text) ? "2" : "";
  const chomp = /(?:^|\n)\n$/.test(text) ? "+" : text.endsWith("\n") ? "" : "-";
  const body = text.endsWith("\n") ? text.slice(0, -1) : text;
  const lines = body.split("\n").map((line) => (line === "" ? "" : pad + line));
  return [`|${hint}${chomp}`, ...lines].join("\n");
}

const ESCAPES: Readonly<Record<string, string | undefined>> = {
  "\0": "\\0",
  "\u0007": "\\a",
  "\b": "\\b",
  "\t": "\\t",
  "\n": "\\n",
  "\v": "\\v",
  "\f": "\\f",
  "\r": "\\r",
  "\u001b": "\\e",
  '"': '\\"',
  "\\": "\\\\",
  "\u0085": "\\N",
  "\u00a0": "\\_",
  "\u2028": "\\L",
  "\u2029": "\\P",
};

function escapeCharacter(char: string): string {
  const simple = ESCAPES[char];
  if (simple !== undefined) return simple;
  const code = char.codePointAt(0) ?? 0;
  const printable =
    (code >= 0x20 && code <= 0x7e) || (code > 0xa0 && code <= 0xfffd && code !== 0xfeff);
  if (printable) return char;
  const hex = code.toString(16).toUpperCase();
  if (code <= 0xff) return `\\x${hex.padStart(2, "0")}`;
  return code <= 0xffff ? `\\u${hex.padStart(4, "0")}` : `\\U${hex.padStart(8, "0")}`;
}

/** A string in double quotes, folded at spaces beyond the column where `fold` says how. */
function quoted(text: string, fold: { indent: number; column: number } | undefined): string {
  // Runs of characters that stay as they are become one piece: a piece for each takes many times the memory of the text.
  const pieces = ['"'];
  let copied = 0;
  let column = (fold?.column ?? 0) + 1;
  let afterSpace = false;
  for (let at = 0; at < text.length; ) {
    const code = text.codePointAt(at) ?? 0;
    const end = at + (code > 0xffff ? 2 : 1);
    if (code === SPACE) {
      const inside = at > 0 && end < text.length;
      if (fold !== undefined && !afterSpace && column > FOLD_COLUMN && inside) {
        const escapesNext = text.charCodeAt(end) === SPACE;
        pieces.push(text.slice(copied, at), "\n", " ".repeat(fold.indent), escapesNext ? "\\" : "");
        copied = end;
        column = fold.indent + (escapesNext ? 1 : 0);
      } else column += 1;
      afterSpace = true;
    } else {
      const char = text.slice(at, end);
      const escaped = escapeCharacter(char);
      if (escaped !== char) {
        pieces.push(text.slice(copied, at), escaped);
        copied = end;
      }
      column += escaped.length;
      afterSpace = false;
    }
    at = end;
  }
  pieces.push(text.slice(copied), '"');
  return pieces.join("");
}

/**
 * The members of a JSON object as the texts of their values, untouched: a number keeps all its digits. Of members of
 * one name the last counts. The text must be an object and well-formed, as after a successful `JSON.parse`.
 */
export function jsonMembers(object: string): Map<string, string> {
  const members = new Map<string, string>();
  let at = skipSpace(object, object.indexOf("{") + 1);
  while (at < object.length && object[at] !== "}") {
    const nameEnd = skipString(object, at);
    const name: unknown = JSON.parse(object.slice(at, nameEnd));
    const start = skipSpace(object, object.indexOf(":", nameEnd) + 1);
    const end = skipValue(object, start);
    if (typeof name === "string") members.set(name, object.slice(start, end));
    at = skipSpace(object, end);
    if (object[at] === ",") at = skipSpace(object, at + 1);
  }
  return members;
}

/** The elements of a JSON array as their texts; the text must be an array and well-formed. */
export function jsonElements(array: string): string[] {
  const elements: string[] = [];
  let at = skipSpace(array, array.indexOf("[") + 1);
  while (at < array.length && array[at] !== "]") {
    const end = skipValue(array, at);
    elements.push(array.slice(at, end));
    at = skipSpace(array, end);
    if (array[at] === ",") at = skipSpace(array, at + 1);
  }
  return elements;
}

const SPACE = new Set([" ", "\t", "\n", "\r"]);

function skipSpace(text: string, from: number): number {
  let at = from;
  while (at < text.length && SPACE.has(text[at] ?? "")) at += 1;
  return at;
}

/** Just behind the string literal that begins at an offset. */
function skipString(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); end !== -1; end = text.indexOf('"', end + 1)) {
    let backslashes = 0;
    while (text[end - 1 - backslashes] === "\\") backslashes += 1;
    if (backslashes % 2 === 0) return end + 1;
  }
  return text.length;
}

/** Just behind the value that begins at an offset. */
function skipValue(text: string, start: number): number {
  let depth = 0;
  for (let at = start; at < text.length; ) {
    const character = text[at];
    if (character === '"') {
      at = skipString(text, at);
      if (depth === 0) return at;
      continue;
    }
    if (character === "{" || character === "[") depth += 1;
    else if (character === "}" || character === "]") {
      if (depth === 0) return at;
      depth -= 1;
      if (depth === 0) return at + 1;
    } else if (depth === 0 && (character === "," || SPACE.has(character ?? ""))) return at;
    at += 1;
  }
  return text.length;
}

import { numberHashText } from "../number/number-payload.ts";
import type { Type } from "../type/type.ts";
import {
  Encapsulated,
  Entries,
  isNumberPayload,
  Marked,
  type Payload,
  type Sequence,
  type SetElements,
  Unknown,
} from "./payload.ts";

/**
 * A text that equal payloads of one type share. Sets put elements into buckets by it, and sets of compound elements
 * iterate in the order of its UTF-8 bytes, which makes it visible: it is built as the reference builds its hash bytes.
 */
export function setHashText(type: Type, payload: Payload): string {
  if (payload instanceof Marked) return setHashText(type, payload.inner);
  if (payload instanceof Unknown) return "?";
  if (payload === null) return "~";
  if (typeof payload === "string") return quote(payload);
  if (typeof payload === "boolean") return payload ? "T" : "F";
  if (isNumberPayload(payload)) return numberHashText(payload);
  if (payload instanceof Encapsulated) {
    const key = type.kind === "capsule" ? type.operations.hashKey?.(payload.content) : undefined;
    return `«${key === undefined ? "?" : quote(key)}»`;
  }
  if (payload instanceof Entries) {
    const element = type.kind === "map" ? type.element : type;
    let text = "{";
    for (const [key, item] of payload.map) text += `${quote(key)}:${setHashText(element, item)};`;
    return `${text}}`;
  }
  return hashSequence(type, payload);
}

function hashSequence(type: Type, payload: Sequence | SetElements): string {
  let text = "";
  if (type.kind === "list" || type.kind === "set") {
    for (const item of payload.items) text += `${setHashText(type.element, item)};`;
    return `[${text}]`;
  }
  const types = type.kind === "object" ? type.types : type.kind === "tuple" ? type.elements : [];
  for (const [i, part] of types.entries()) {
    text += `${setHashText(part, payload.items[i] ?? null)};`;
  }
  return `<${text}>`;
}

const ESCAPES: Readonly<Record<string, string>> = {
  "\u0007": "\\a",
  "\b": "\\b",
  "\f": "\\f",
  "\n": "\\n",
  "\r": "\\r",
  "\t": "\\t",
  "\v": "\\v",
  "\\": "\\\\",
  '"': '\\"',
};

/** Everything that is not a letter, mark, number, punctuation, symbol or the plain space. */
const ESCAPED = /["\\]|[^\p{L}\p{M}\p{N}\p{P}\p{S} ]/gu;
const PLAIN = /^[ !#-[\]-~]*$/;

/** The text in double quotes with escapes of the Go language, which the reference's hash contains. */
function quote(text: string): string {
  if (PLAIN.test(text)) return `"${text}"`;
  const escaped = text.replace(ESCAPED, (character) => {
    const known = ESCAPES[character];
    if (known !== undefined) return known;
    const code = character.codePointAt(0) ?? 0;
    if (code < 0x20 || code === 0x7f) return `\\x${code.toString(16).padStart(2, "0")}`;
    if (code < 0x10000) return `\\u${code.toString(16).padStart(4, "0")}`;
    return `\\U${code.toString(16).padStart(8, "0")}`;
  });
  return `"${escaped}"`;
}

const TABLE = Uint32Array.from({ length: 256 }, (_, start) => {
  let crc = start;
  for (let bit = 0; bit < 8; bit += 1) crc = (crc & 1) === 1 ? (crc >>> 1) ^ 0xedb88320 : crc >>> 1;
  return crc >>> 0;
});

/** CRC-32 (IEEE) of the UTF-8 bytes, which orders buckets of elements that have no order of their own. */
export function bucketNumber(hashText: string): number {
  let crc = 0xffffffff;
  for (const byte of new TextEncoder().encode(hashText)) {
    crc = (TABLE[(crc ^ byte) & 0xff] ?? 0) ^ (crc >>> 8);
  }
  return (crc ^ 0xffffffff) >>> 0;
}

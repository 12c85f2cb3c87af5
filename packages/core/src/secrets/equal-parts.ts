import { isOpen, type JsonPart, type JsonPath } from "./json-parts.ts";
import { createRedactor, type Redactor } from "./redactor.ts";

/** Longer secrets are only searched for as a whole: all their forms would be many times as long. */
const LONGEST_PART = 64 * 1024;

/**
 * Where a JSON text repeats what was cut out of it: texts and numbers equal to one of the cut parts, texts that
 * have one in them in any form that a redactor knows, and objects with such a name of a member.
 *
 * A provider may return a secret in a place that is not marked as sensitive. Its meaning and its display stay unchanged
 * then, but the store holds it encrypted.
 */
export function equalParts(json: string, cut: readonly JsonPart[]): readonly JsonPath[] {
  const known: Known = { whole: new Set(), inner: createRedactor() };
  for (const { text } of cut) learn(JSON.parse(text), known);
  if (known.whole.size === 0) return [];
  const found: JsonPath[] = [];
  look(JSON.parse(json), [], known, found);
  return found;
}

interface Known {
  readonly whole: Set<string | number>;
  readonly inner: Redactor;
}

function learn(secret: unknown, known: Known): void {
  if (typeof secret === "string") {
    if (secret === "") return;
    known.whole.add(secret);
    if (secret.length <= LONGEST_PART) known.inner.add(secret);
  } else if (typeof secret === "number") known.whole.add(secret);
  else if (typeof secret === "object" && secret !== null) {
    for (const part of Object.values(secret)) learn(part, known);
  }
}

function look(value: unknown, at: JsonPath, known: Known, found: JsonPath[]): void {
  if (typeof value === "string" || typeof value === "number") {
    if (holds(value, known)) found.push(at);
  } else if (Array.isArray(value)) {
    for (const [position, item] of value.entries()) look(item, [...at, position], known, found);
  } else if (typeof value === "object" && value !== null) {
    const names = Object.keys(value);
    // The members that a value of an open type is written in are no steps of a path.
    const step = isOpen(names) ? () => at : (name: string) => [...at, name];
    if (names.some((name) => holds(name, known))) found.push(at);
    else for (const [name, item] of Object.entries(value)) look(item, step(name), known, found);
  }
}

function holds(text: string | number, { whole, inner }: Known): boolean {
  return whole.has(text) || (typeof text === "string" && inner.redact(text) !== text);
}

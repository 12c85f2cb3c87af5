/**
 * Where a part of a JSON text is, as names of members and positions of elements from the outermost on.
 */
export type JsonPath = readonly (string | number)[];

/** A part that was taken out of a JSON text. */
export interface JsonPart {
  readonly at: JsonPath;
  /** The same place with every member on the way, also those that values of open types are written in. */
  readonly written: JsonPath;
  /** The text of the part. */
  readonly text: string;
}

// Taking parts out works on the text itself, so that everything else in it stays as it is, byte by byte: numbers of
// any length, order of members, spaces. The text is valid JSON whose type is not known. A value of a type that its
// schema leaves open is written as {"value": ..., "type": ...}. A path to another member leads through its value; one to
// "value" or "type" may mean the member or go through it, and takes the whole object. The same goes for everything else
// that a path does not clearly lead through: too much is taken rather than too little.

/**
 * Takes the parts at the given paths out of a JSON text and leaves `null` in their place. A path that cannot be
 * followed to its end takes the innermost part that it surely leads through.
 */
export function extractJsonParts(
  json: string,
  paths: readonly JsonPath[],
): { readonly json: string; readonly parts: readonly JsonPart[] } {
  const spans = paths
    .map((path) => locate(json, path))
    .sort((a, b) => a.start - b.start || b.end - a.end);
  const parts: JsonPart[] = [];
  let rest = "";
  let position = 0;
  for (const { at, written, start, end } of spans) {
    // Within a part that was taken already.
    if (start < position) continue;
    parts.push({ at, written, text: json.slice(start, end) });
    rest += `${json.slice(position, start)}null`;
    position = end;
  }
  return { json: rest + json.slice(position), parts };
}

/** Puts parts back that {@link extractJsonParts} took out. `SyntaxError` when the text has no such place. */
export function insertJsonParts(
  json: string,
  parts: readonly Pick<JsonPart, "at" | "text">[],
): string {
  const spans = parts
    .map(({ at, text }) => {
      const found = locate(json, at);
      if (found.at.length !== at.length || json.slice(found.start, found.end) !== "null") {
        throw new SyntaxError("the text has no place for the part");
      }
      return { ...found, text };
    })
    .sort((a, b) => a.start - b.start);
  let whole = "";
  let position = 0;
  for (const { start, end, text } of spans) {
    whole += json.slice(position, start) + text;
    position = end;
  }
  return whole + json.slice(position);
}

interface Span {
  readonly at: JsonPath;
  readonly written: JsonPath;
  readonly start: number;
  readonly end: number;
}

/** The part at a path, or the innermost one on the way to it. */
function locate(json: string, path: JsonPath): Span {
  let start = skipSpace(json, 0);
  const written: (string | number)[] = [];
  for (const [depth, step] of path.entries()) {
    const inner = insideOpen(json, start, step);
    const from = inner ?? start;
    const next = json[from] === "{" ? member(json, from, step) : element(json, from, step);
    if (next === undefined) {
      return { at: path.slice(0, depth), written, start, end: skipValue(json, start) };
    }
    if (inner !== undefined) written.push("value");
    written.push(step);
    start = next;
  }
  return { at: path, written, start, end: skipValue(json, start) };
}

/** Start of the value where an object is that of an open type, and a step is to something in it. */
function insideOpen(json: string, start: number, step: string | number): number | undefined {
  if (json[start] !== "{" || step === "value" || step === "type") return undefined;
  const found = members(json, start);
  return isOpen(found.map(({ name }) => name))
    ? found.find(({ name }) => name === "value")?.value
    : undefined;
}

/** Whether an object with these members may hold a value of an open type beside its type. */
export function isOpen(names: readonly string[]): boolean {
  return names.length === 2 && names.includes("type") && names.includes("value");
}

/** Start of a member's value; `undefined` unless it is there exactly once and the object is what it seems. */
function member(json: string, object: number, name: string | number): number | undefined {
  const all = members(json, object);
  const found = all.filter((one) => one.name === name);
  if (found.length !== 1 || isOpen(all.map((one) => one.name))) return undefined;
  return found[0]?.value;
}

/** The members of an object with the starts of their values. */
function members(
  json: string,
  object: number,
): readonly { readonly name: string; readonly value: number }[] {
  const found: { readonly name: string; readonly value: number }[] = [];
  let position = skipSpace(json, object + 1);
  while (json[position] === '"') {
    const end = skipString(json, position);
    const value = skipSpace(json, skipSpace(json, end) + 1);
    found.push({ name: JSON.parse(json.slice(position, end)) as string, value });
    position = nextItem(json, skipValue(json, value));
  }
  return found;
}

/** Start of an element; `undefined` when there is none. */
function element(json: string, array: number, index: string | number): number | undefined {
  if (json[array] !== "[" || typeof index !== "number") return undefined;
  let position = skipSpace(json, array + 1);
  for (let count = 0; position < json.length && json[position] !== "]"; count += 1) {
    if (count === index) return position;
    position = nextItem(json, skipValue(json, position));
  }
  return undefined;
}

/** Behind a value of an object or array: the start of the next item, or the closing bracket. */
function nextItem(json: string, end: number): number {
  const position = skipSpace(json, end);
  return json[position] === "," ? skipSpace(json, position + 1) : position;
}

function skipSpace(json: string, position: number): number {
  let index = position;
  while (
    json[index] === " " ||
    json[index] === "\n" ||
    json[index] === "\t" ||
    json[index] === "\r"
  ) {
    index += 1;
  }
  return index;
}

function skipValue(json: string, start: number): number {
  const first = json[start];
  if (first === '"') return skipString(json, start);
  if (first !== "{" && first !== "[") {
    let index = start;
    while (index < json.length && !",]} \n\t\r".includes(json[index] ?? "")) index += 1;
    return index;
  }
  let depth = 0;
  for (let index = start; index < json.length; index += 1) {
    const letter = json[index];
    if (letter === '"') index = skipString(json, index) - 1;
    else if (letter === "{" || letter === "[") depth += 1;
    else if (letter === "}" || letter === "]") {
      depth -= 1;
      if (depth === 0) return index + 1;
    }
  }
  throw new SyntaxError("the JSON text ends too early");
}

function skipString(json: string, start: number): number {
  for (let index = start + 1; index < json.length; index += 1) {
    if (json[index] === "\\") index += 1;
    else if (json[index] === '"') return index + 1;
  }
  throw new SyntaxError("the JSON text ends too early");
}

import { type Position, PositionEncodingKind } from "vscode-languageserver-protocol";
import { TextDocument } from "vscode-languageserver-textdocument";

/** How a client counts characters of a line: the first way of its list that the server knows. */
export function chosenEncoding(
  offered: readonly PositionEncodingKind[] | undefined,
): PositionEncodingKind {
  const known: readonly string[] = [PositionEncodingKind.UTF8, PositionEncodingKind.UTF16];
  return offered?.find((each) => known.includes(each)) ?? PositionEncodingKind.UTF16;
}

/**
 * Positions of a client that counts in bytes of UTF-8. The features count in UTF-16, as the protocol does by itself: what comes in and
 * what goes out is rewritten, each position by the text of the document that it is in.
 */
export class BytePositions {
  readonly #textOf: (uri: string) => string | undefined;

  constructor(textOf: (uri: string) => string | undefined) {
    this.#textOf = textOf;
  }

  /** What a client sent, with positions in UTF-16. */
  received<T>(message: T): T {
    return this.#rewritten(message, undefined, (lines, position) => lines.fromBytes(position));
  }

  /** What is sent to a client, with positions in bytes; `uri` is of the document that is asked about. */
  sent<T>(message: T, uri: string | undefined): T {
    return this.#rewritten(message, uri, (lines, position) => lines.toBytes(position));
  }

  #rewritten<T>(
    message: T,
    around: string | undefined,
    convert: (lines: ByteLines, position: Position) => Position,
  ): T {
    const documents = new Map<string, ByteLines | undefined>();
    const linesOf = (uri: string): ByteLines | undefined => {
      if (!documents.has(uri)) {
        const text = this.#textOf(uri);
        documents.set(uri, text === undefined ? undefined : new ByteLines(text));
      }
      return documents.get(uri);
    };
    const visit = (value: unknown, outer: string | undefined): unknown => {
      if (Array.isArray(value)) {
        return isNumbers(value) ? value : value.map((each) => visit(each, outer));
      }
      if (typeof value !== "object" || value === null) return value;
      if (isPosition(value)) {
        const lines = outer === undefined ? undefined : linesOf(outer);
        return lines === undefined ? value : convert(lines, value);
      }
      const uri = documentOf(value) ?? outer;
      return Object.fromEntries(
        Object.entries(value).map(([name, member]) => {
          if (name === "changes" && isObject(member)) return [name, visitChanges(member)];
          // Of a call to a module: the places are in the file that calls.
          const caller =
            name === "fromRanges" && "from" in value ? documentOf(value.from) : undefined;
          return [name, visit(member, caller ?? uri)];
        }),
      );
    };
    const visitChanges = (changes: object): object =>
      Object.fromEntries(Object.entries(changes).map(([uri, edits]) => [uri, visit(edits, uri)]));
    return visit(message, around) as T;
  }
}

/** The numbers of semantic tokens with characters and lengths in bytes. */
export function tokensInBytes(data: readonly number[], text: string): number[] {
  const lines = new ByteLines(text);
  const found: number[] = [];
  let line = 0;
  let character = 0;
  let before = 0;
  for (let at = 0; at + 4 < data.length; at += 5) {
    const [down = 0, right = 0, length = 0, type = 0, modifiers = 0] = data.slice(at, at + 5);
    line += down;
    character = down === 0 ? character + right : right;
    if (down !== 0) before = 0;
    const start = lines.toBytes({ line, character }).character;
    const end = lines.toBytes({ line, character: character + length }).character;
    found.push(down, start - before, end - start, type, modifiers);
    before = start;
  }
  return found;
}

/** One text, of whose lines characters are counted in both ways. */
class ByteLines {
  readonly #text: string;
  readonly #document: TextDocument;
  readonly #lines = new Map<number, ByteLine>();

  constructor(text: string) {
    this.#text = text;
    this.#document = TextDocument.create("", "", 0, text);
  }

  toBytes({ line, character }: Position): Position {
    return { line, character: this.#line(line).bytes(character) };
  }

  /** Within a character is before it, and behind the line its end. */
  fromBytes({ line, character }: Position): Position {
    return { line, character: this.#line(line).units(character) };
  }

  #line(line: number): ByteLine {
    let known = this.#lines.get(line);
    if (known === undefined) {
      const start = this.#document.offsetAt({ line, character: 0 });
      const end = this.#document.offsetAt({ line, character: Number.MAX_SAFE_INTEGER });
      known = new ByteLine(this.#text.slice(start, end));
      this.#lines.set(line, known);
    }
    return known;
  }
}

/** How many units are between two places of a line whose bytes are known. */
const MARK_DISTANCE = 256;

/** A line, with how many bytes are before some places of it: a long one is not counted again for each position. */
class ByteLine {
  readonly #text: string;
  readonly #marks: { readonly units: number; readonly bytes: number }[] = [{ units: 0, bytes: 0 }];

  constructor(text: string) {
    this.#text = text;
    let [units, bytes] = [0, 0];
    while (units + MARK_DISTANCE < text.length) {
      let next = units + MARK_DISTANCE;
      // Not within a character of two units.
      if ((text.codePointAt(next - 1) ?? 0) > 0xffff) next += 1;
      bytes += Buffer.byteLength(text.slice(units, next));
      units = next;
      this.#marks.push({ units, bytes });
    }
  }

  bytes(character: number): number {
    const mark = this.#before(({ units }) => units <= character);
    return mark.bytes + Buffer.byteLength(this.#text.slice(mark.units, character));
  }

  units(character: number): number {
    const mark = this.#before(({ bytes }) => bytes <= character);
    let { units, bytes } = mark;
    for (const sign of this.#text.slice(units, units + MARK_DISTANCE + 1)) {
      bytes += Buffer.byteLength(sign);
      if (bytes > character) break;
      units += sign.length;
    }
    return units;
  }

  /** The last mark for which something is so that is so for those before it. */
  #before(isSo: (mark: { readonly units: number; readonly bytes: number }) => boolean) {
    let low = 0;
    let high = this.#marks.length;
    while (low + 1 < high) {
      const middle = (low + high) >> 1;
      const mark = this.#marks[middle];
      if (mark !== undefined && isSo(mark)) low = middle;
      else high = middle;
    }
    return this.#marks[low] ?? { units: 0, bytes: 0 };
  }
}

/** The document that a message, or a part of one, is about. */
export function documentOf(value: unknown): string | undefined {
  if (!isObject(value)) return undefined;
  if ("uri" in value && typeof value.uri === "string") return value.uri;
  for (const name of ["textDocument", "item", "data"] as const) {
    const inner = (value as Readonly<Record<string, unknown>>)[name];
    const uri = isObject(inner) && "uri" in inner ? inner.uri : undefined;
    if (typeof uri === "string") return uri;
  }
  return undefined;
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isPosition(value: object): value is Position {
  return (
    "line" in value &&
    "character" in value &&
    typeof value.line === "number" &&
    typeof value.character === "number"
  );
}

function isNumbers(values: readonly unknown[]): boolean {
  return typeof values[0] === "number";
}

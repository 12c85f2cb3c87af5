import { graphemeCount } from "./grapheme.ts";

/** A place in a source file. */
export interface Position {
  /** Line, counted from 1. Lines end at a line feed. */
  readonly line: number;
  /** Column, counted from 1 in grapheme clusters: what a reader would call characters. */
  readonly column: number;
  /** Offset in UTF-8 bytes, counted from 0. */
  readonly byte: number;
  /** Offset in UTF-16 code units, counted from 0: what JavaScript strings and editors count in. */
  readonly offset: number;
}

/** A stretch of a source, in UTF-16 offsets of `source.text`; `end` is exclusive. */
export interface SourceRange {
  readonly source: SourceFile;
  readonly start: number;
  readonly end: number;
}

/** A range with its positions worked out, in the file that a reader can open. */
export interface LocatedRange {
  readonly filename: string;
  readonly start: Position;
  readonly end: Position;
}

/** Text that stands inside another source, and where each of its characters came from. */
export interface Embedding {
  /** The source that the text was taken from. */
  readonly host: SourceFile;
  /** Host offset of each UTF-16 unit of the embedded text, and one more for its end. */
  readonly offsets: Int32Array;
}

const BYTE_ORDER_MARK = 0xfeff;

/**
 * One piece of source text under a name. Nodes and tokens carry only UTF-16 offsets; lines,
 * columns and bytes are computed here on demand, so that parsing pays nothing for them.
 *
 * A source may be *embedded*: the text of a JSON string that holds a template is a source of its
 * own whose positions are reported in the JSON file.
 */
export class SourceFile {
  readonly name: string;
  readonly text: string;
  readonly embedding: Embedding | undefined;
  #lineStarts: number[] | undefined;
  #lineBytes: number[] | undefined;

  constructor(name: string, text: string, embedding?: Embedding) {
    this.name = name;
    this.text = text;
    this.embedding = embedding;
  }

  /**
   * Decodes UTF-8. Bytes that are not UTF-8 become U+FFFD and `valid` is false; a byte order mark
   * stays the first character of the text, so that byte offsets are those of the file.
   */
  static fromBytes(name: string, bytes: Uint8Array): { source: SourceFile; valid: boolean } {
    try {
      const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
      return { source: new SourceFile(name, text), valid: true };
    } catch {
      const text = new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes);
      return { source: new SourceFile(name, text), valid: false };
    }
  }

  /** Offset of the first character that belongs to the language: after a byte order mark. */
  get contentStart(): number {
    return this.text.charCodeAt(0) === BYTE_ORDER_MARK ? 1 : 0;
  }

  /** The source that positions are reported in: the outermost host, or this one. */
  get file(): SourceFile {
    return this.embedding === undefined ? this : this.embedding.host.file;
  }

  /** Turns an offset of this text into an offset of `file`. */
  fileOffset(offset: number): number {
    if (this.embedding === undefined) return offset;
    const { host, offsets } = this.embedding;
    const clamped = Math.max(0, Math.min(offset, offsets.length - 1));
    return host.fileOffset(offsets[clamped] ?? 0);
  }

  /** The position of an offset, in `file`. Offsets outside of the text are clamped. */
  position(offset: number): Position {
    if (this.embedding !== undefined) return this.file.position(this.fileOffset(offset));
    const clamped = Math.max(0, Math.min(offset, this.text.length));
    const lineStarts = this.#starts();
    const line = lineContaining(lineStarts, clamped);
    const lineStart = lineStarts[line] ?? 0;
    const before = this.text.slice(lineStart, clamped);
    const visible = line === 0 ? before.slice(Math.min(this.contentStart, before.length)) : before;
    return {
      line: line + 1,
      column: graphemeCount(visible) + 1,
      byte: (this.#bytes()[line] ?? 0) + Buffer.byteLength(before),
      offset: clamped,
    };
  }

  /** A range with all its positions, in `file`. */
  locate(start: number, end: number): LocatedRange {
    return {
      filename: this.file.name,
      start: this.position(start),
      end: this.position(Math.max(start, end)),
    };
  }

  /** The offset at which a line of this text begins. `line` is counted from 1. */
  lineStart(line: number): number {
    const starts = this.#starts();
    return starts[Math.max(0, Math.min(line - 1, starts.length - 1))] ?? 0;
  }

  /** The text of a line without its line ending. `line` is counted from 1. */
  lineText(line: number): string {
    const starts = this.#starts();
    const from = this.lineStart(line);
    const to = starts[line] ?? this.text.length;
    return this.text.slice(from, to).replace(/\r?\n$/, "");
  }

  /** How many lines the text has; an empty text has one. */
  get lineCount(): number {
    return this.#starts().length;
  }

  #starts(): number[] {
    if (this.#lineStarts !== undefined) return this.#lineStarts;
    const starts = [0];
    for (let at = this.text.indexOf("\n"); at !== -1; at = this.text.indexOf("\n", at + 1)) {
      starts.push(at + 1);
    }
    this.#lineStarts = starts;
    return starts;
  }

  #bytes(): number[] {
    if (this.#lineBytes !== undefined) return this.#lineBytes;
    const starts = this.#starts();
    let bytes = starts;
    if (Buffer.byteLength(this.text) !== this.text.length) {
      let sum = 0;
      bytes = starts.map((start, index) => {
        const at = sum;
        sum += Buffer.byteLength(this.text.slice(start, starts[index + 1] ?? this.text.length));
        return at;
      });
    }
    this.#lineBytes = bytes;
    return bytes;
  }
}

/** Index of the line that holds the offset: the last start that is not after it. */
function lineContaining(starts: readonly number[], offset: number): number {
  let low = 0;
  let high = starts.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if ((starts[middle] ?? 0) <= offset) low = middle;
    else high = middle - 1;
  }
  return low;
}

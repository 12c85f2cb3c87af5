import { StringDecoder } from "node:string_decoder";
import type { Redactor } from "@stackwright/core";

/** Characters of one stream of an execution that reach the log of the operator. */
const MAX_OUTPUT = 64 * 1024;
/** A longer line is written in parts. */
const MAX_LINE = 4 * 1024;

type Begun = ReturnType<Redactor["redactPiece"]>["unfinished"];

/**
 * What an executor writes to a standard stream, for the log of the operator: line by line without the secrets of its job, also
 * where one is split over chunks or lines, and no more than the bound; the rest is dropped, and counted.
 */
export class ChildOutput {
  readonly #secrets: Redactor;
  readonly #write: (text: string) => void;
  readonly #decoder = new StringDecoder("utf8");
  #line = "";
  #begun: Begun = [];
  #written = 0;
  #dropped = 0;

  constructor(secrets: Redactor, write: (text: string) => void) {
    this.#secrets = secrets;
    this.#write = write;
  }

  take(chunk: Buffer): void {
    if (this.#written >= MAX_OUTPUT) {
      this.#dropped += chunk.byteLength;
      return;
    }
    this.#line += this.#decoder.write(chunk);
    for (let end = this.#endOfLine(); end > 0; end = this.#endOfLine()) {
      this.#pass(this.#line.slice(0, end));
      this.#line = this.#line.slice(end);
    }
  }

  /** Writes what is left when the stream ends. */
  end(): void {
    if (this.#line !== "") this.#pass(this.#line);
    this.#line = "";
    if (this.#dropped > 0) this.#write(`(${this.#dropped} bytes more were dropped)`);
    this.#dropped = 0;
  }

  /** Where the first line, or part of a long one, ends; 0 while more has to come. */
  #endOfLine(): number {
    const end = this.#line.indexOf("\n") + 1;
    if (end > 0 && end <= MAX_LINE) return end;
    return this.#line.length > MAX_LINE ? MAX_LINE : 0;
  }

  #pass(piece: string): void {
    const { text, unfinished } = this.#secrets.redactPiece(piece, this.#begun);
    this.#begun = unfinished;
    if (this.#written >= MAX_OUTPUT) {
      this.#dropped += Buffer.byteLength(piece);
      return;
    }
    this.#written += text.length;
    const line = text.trimEnd();
    if (line !== "") this.#write(line);
  }
}

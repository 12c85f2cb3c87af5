import { StringDecoder } from "node:string_decoder";

/** The longest line that is passed on whole. */
const LONGEST_LINE = 64 * 1024;

/** Cuts the bytes of a stream into lines; of a longer line each part is a line. */
export class LineSplitter {
  readonly #onLine: (line: string) => void;
  readonly #decoder = new StringDecoder("utf8");
  #rest = "";

  constructor(onLine: (line: string) => void) {
    this.#onLine = onLine;
  }

  write(bytes: Buffer): void {
    const parts = (this.#rest + this.#decoder.write(bytes)).split("\n");
    this.#rest = parts.pop() ?? "";
    for (const part of parts) this.#onLine(part.replace(/\r$/, ""));
    while (this.#rest.length > LONGEST_LINE) {
      this.#onLine(this.#rest.slice(0, LONGEST_LINE));
      this.#rest = this.#rest.slice(LONGEST_LINE);
    }
  }

  /** Passes on what is left behind the last line feed. */
  end(): void {
    const rest = this.#rest + this.#decoder.end();
    this.#rest = "";
    if (rest !== "") this.#onLine(rest);
  }
}

/** The last output of a command, for the message of its failure. */
export class OutputTail {
  readonly #limit: number;
  #lines: string[] = [];
  #size = 0;

  constructor(limitBytes: number) {
    this.#limit = limitBytes;
  }

  add(line: string): void {
    this.#lines.push(line);
    this.#size += line.length + 1;
    while (this.#size > this.#limit && this.#lines.length > 1) {
      this.#size -= (this.#lines.shift()?.length ?? 0) + 1;
    }
  }

  get text(): string {
    return this.#lines.join("\n");
  }
}

const NEWLINE = 0x0a;

/** A line that is longer is handed on in pieces, so that what is kept stays bounded. */
const MAX_LINE_BYTES = 64 * 1024;

/** Cuts what a process writes into lines, without their ends. */
export class LineSplitter {
  readonly #onLine: (line: string) => void;
  #parts: Buffer[] = [];
  #bytes = 0;

  constructor(onLine: (line: string) => void) {
    this.#onLine = onLine;
  }

  push(chunk: Buffer): void {
    let start = 0;
    for (;;) {
      const end = chunk.indexOf(NEWLINE, start);
      if (end === -1) break;
      this.#keep(chunk.subarray(start, end));
      this.#flush();
      start = end + 1;
    }
    this.#keep(chunk.subarray(start));
  }

  /** Hands on what was written after the last end of a line. */
  end(): void {
    if (this.#bytes > 0) this.#flush();
  }

  #keep(part: Buffer): void {
    let rest = part;
    while (this.#bytes + rest.length > MAX_LINE_BYTES) {
      const fits = MAX_LINE_BYTES - this.#bytes;
      this.#parts.push(rest.subarray(0, fits));
      this.#flush();
      rest = rest.subarray(fits);
    }
    if (rest.length === 0) return;
    this.#parts.push(rest);
    this.#bytes += rest.length;
  }

  #flush(): void {
    const line = Buffer.concat(this.#parts).toString("utf8");
    this.#parts = [];
    this.#bytes = 0;
    this.#onLine(line.endsWith("\r") ? line.slice(0, -1) : line);
  }
}

/** The last lines that a process wrote, to explain its end. */
export class LineTail {
  readonly #lines: string[] = [];
  readonly #limit: number;

  constructor(limit = 20) {
    this.#limit = limit;
  }

  add(line: string): void {
    this.#lines.push(line.length > 1000 ? `${line.slice(0, 1000)}...` : line);
    if (this.#lines.length > this.#limit) this.#lines.shift();
  }

  /** Empty when nothing was written, else on a line of its own. */
  get text(): string {
    return this.#lines.length === 0 ? "" : `\n${this.#lines.join("\n")}`;
  }
}

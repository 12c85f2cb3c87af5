import { createHash } from "node:crypto";
import { type FileHandle, open } from "node:fs/promises";
import { StorageError } from "../errors.ts";
import type { BackupFile } from "./backup-manifest.ts";

const BUFFERED_BYTES = 1024 * 1024;
const LINE_FEED = 0x0a;

/** Writes lines to a new file, and learns what its manifest has to say. */
export class LineWriter implements AsyncDisposable {
  readonly #file: FileHandle;
  readonly #hash = createHash("sha256");
  #buffered: Buffer[] = [];
  #bufferedBytes = 0;
  #bytes = 0;
  #count = 0;

  constructor(file: FileHandle) {
    this.#file = file;
  }

  /** Makes the file, or empties the one that is there. */
  static async create(path: string): Promise<LineWriter> {
    return new LineWriter(await open(path, "w", 0o600));
  }

  async write(line: string): Promise<void> {
    const bytes = Buffer.from(`${line}\n`);
    this.#count += 1;
    this.#buffered.push(bytes);
    this.#bufferedBytes += bytes.length;
    if (this.#bufferedBytes >= BUFFERED_BYTES) await this.#flush();
  }

  /** Syncs the file. */
  async finish(): Promise<BackupFile> {
    await this.#flush();
    await this.#file.sync();
    return { count: this.#count, bytes: this.#bytes, sha256: this.#hash.digest("hex") };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#file.close();
  }

  async #flush(): Promise<void> {
    const bytes = Buffer.concat(this.#buffered);
    this.#buffered = [];
    this.#bufferedBytes = 0;
    await this.#file.writeFile(bytes);
    this.#hash.update(bytes);
    this.#bytes += bytes.length;
  }
}

/** A line of a file; without a text where it is longer than any that is written. */
interface ReadLine {
  /** From 1. */
  readonly number: number;
  readonly text: string | undefined;
}

/** Reads the lines of a file, and learns what its manifest should say. */
export class LineReader {
  readonly #path: string;
  readonly #maxBytes: number;
  #read: BackupFile | undefined;

  constructor(path: string, maxBytes: number) {
    this.#path = path;
    this.#maxBytes = maxBytes;
  }

  /** Of all that was read; only after the last line. */
  get file(): BackupFile {
    if (this.#read === undefined) throw new Error("the file was not read to its end");
    return this.#read;
  }

  /** All lines; a last one without its end counts as well. `STORAGE_CORRUPT` where the file is missing. */
  async *lines(): AsyncGenerator<ReadLine, undefined> {
    const hash = createHash("sha256");
    let bytes = 0;
    let count = 0;
    let parts: Buffer[] = [];
    let partBytes = 0;
    const add = (part: Buffer): void => {
      partBytes += part.length;
      // Of a line that is too long nothing is kept but its length.
      if (partBytes <= this.#maxBytes) parts.push(part);
      else parts = [];
    };
    const take = (): ReadLine => {
      count += 1;
      const text = partBytes <= this.#maxBytes ? Buffer.concat(parts).toString("utf8") : undefined;
      parts = [];
      partBytes = 0;
      return { number: count, text };
    };
    await using file = await openExisting(this.#path);
    for await (const chunk of file.createReadStream({ highWaterMark: BUFFERED_BYTES })) {
      const read = chunk as Buffer;
      hash.update(read);
      bytes += read.length;
      let start = 0;
      for (let end = read.indexOf(LINE_FEED); end >= 0; end = read.indexOf(LINE_FEED, start)) {
        add(read.subarray(start, end));
        start = end + 1;
        yield take();
      }
      if (start < read.length) add(read.subarray(start));
    }
    if (partBytes > 0) yield take();
    this.#read = { count, bytes, sha256: hash.digest("hex") };
  }
}

async function openExisting(path: string): Promise<FileHandle> {
  try {
    return await open(path, "r");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
    throw new StorageError("STORAGE_CORRUPT", `${path} is missing`, { cause: error });
  }
}

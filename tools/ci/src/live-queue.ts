import { closeSync, mkdirSync, openSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/**
 * Test files in an order, in a folder that several processes share: each file is taken by one of them. A file that was
 * taken stays taken, also when its process ends before the file was run.
 */
export class LiveQueue {
  readonly #folder: string;
  readonly #files: readonly string[];

  /** Opens the queue that {@link LiveQueue.create} left in the folder. */
  constructor(folder: string) {
    this.#folder = folder;
    this.#files = JSON.parse(readFileSync(join(folder, "files.json"), "utf8")) as string[];
  }

  static create(folder: string, files: readonly string[]): LiveQueue {
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, "files.json"), JSON.stringify(files));
    return new LiveQueue(folder);
  }

  /** The first file that no process has taken yet; undefined once all are taken. */
  take(): string | undefined {
    return this.#files.find((_, at) => this.#mark(at));
  }

  /** Takes all files that are left. */
  takeRest(): readonly string[] {
    return this.#files.filter((_, at) => this.#mark(at));
  }

  /** Whether this call is the one that took the file: the file system creates a name once. */
  #mark(at: number): boolean {
    try {
      closeSync(openSync(join(this.#folder, `${at}.taken`), "wx"));
      return true;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
      throw error;
    }
  }
}

import type { Readable } from "node:stream";
import { LineSplitter } from "./line-splitter.ts";

/** Where output should wait: a promise that resolves when there is room for more, or undefined where there is. */
export type OutputRoom = () => Promise<void> | undefined;

/** Cuts the output of a program into lines, and reads it no faster than there is room for them: the program waits at its pipe. */
export class PacedLines {
  readonly #lines: LineSplitter;
  readonly #room: OutputRoom;
  readonly #streams: Readable[] = [];
  #held: Promise<void> | undefined;

  constructor(onLine: (line: string) => void, room: OutputRoom = () => undefined) {
    this.#lines = new LineSplitter(onLine);
    this.#room = room;
  }

  /** Resolves when the streams are read again; undefined while they are. */
  get held(): Promise<void> | undefined {
    return this.#held;
  }

  /** Reads a stream until it ends, or is destroyed by its owner. */
  read(stream: Readable): void {
    this.#streams.push(stream);
    stream.on("data", (bytes: Buffer) => {
      this.#lines.write(bytes);
      this.#hold();
    });
  }

  /** Passes on what is left behind the last line feed. */
  end(): void {
    this.#lines.end();
  }

  #hold(): void {
    if (this.#held !== undefined) return;
    const room = this.#room();
    if (room === undefined) return;
    for (const stream of this.#streams) stream.pause();
    const readAgain = (): void => {
      this.#held = undefined;
      for (const stream of this.#streams) stream.resume();
    };
    this.#held = room.then(readAgain, readAgain);
  }
}

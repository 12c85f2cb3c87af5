import { MAX_STATE_BYTES } from "../terraform-state/state-content.ts";

/** The second line of a state, as programs indent it. */
const VERSION_LINE = /^ {2}"version": 4,\r?\n$/;

/**
 * A state that a tool prints as it can write it nowhere, as on a full disk: then its output has the only copy, with all secrets in it. Takes the
 * state out of the output, line by line. Lines of providers and provisioners begin with other text; an output of the configuration may
 * look like a state, and is printed by programs that succeed alone, whose states are in files.
 */
export class PrintedState {
  readonly #maxBytes: number;
  /** A line that begins a state if the next one has its version. */
  #held = "";
  #isInside = false;
  #isLineStart = true;
  #pieces: string[] = [];
  #bytes = 0;
  #content: string | undefined;

  constructor(maxBytes = MAX_STATE_BYTES) {
    this.#maxBytes = maxBytes;
  }

  /** The last state that was printed whole; undefined where there is none, or none that is small enough. */
  get content(): string | undefined {
    return this.#content;
  }

  /** Takes a line, or the next part of one, with its end. Returns what is no state, in the same order. */
  take(piece: string): readonly string[] {
    const isLineStart = this.#isLineStart;
    this.#isLineStart = piece.endsWith("\n");
    if (this.#isInside) {
      this.#keep(piece);
      if (isLineStart && piece.trimEnd() === "}") this.#end();
      return [];
    }
    const held = this.#held === "" ? [] : [this.#held];
    this.#held = "";
    if (held.length > 0 && VERSION_LINE.test(piece)) {
      this.#isInside = true;
      for (const one of [...held, piece]) this.#keep(one);
      return [];
    }
    if (isLineStart && /^\{\r?\n$/.test(piece)) {
      this.#held = piece;
      return held;
    }
    return [...held, piece];
  }

  /** What was held back as the output ended. */
  flush(): readonly string[] {
    const held = this.#held;
    this.#held = "";
    return held === "" ? [] : [held];
  }

  #keep(piece: string): void {
    this.#bytes += Buffer.byteLength(piece);
    if (this.#bytes > this.#maxBytes) this.#pieces = [];
    else this.#pieces.push(piece);
  }

  #end(): void {
    this.#content = this.#bytes > this.#maxBytes ? undefined : this.#pieces.join("");
    this.#isInside = false;
    this.#pieces = [];
    this.#bytes = 0;
  }
}

import type { Terminal } from "../terminal/terminal.ts";
import { cutText, textWidth } from "../terminal/text-width.ts";

const HIDE_CURSOR = "\u001b[?25l";
const SHOW_CURSOR = "\u001b[?25h";
const MIN_COLUMNS = 10;

/**
 * Lines at the bottom of a terminal that are redrawn, with ordinary output going on above them.
 *
 * Each change is one write, so that nothing flickers; a line never reaches the right edge, so that none wraps
 * and the number of rows is known. The area is as wide as the terminal is at the moment of drawing; after
 * the terminal was made narrower, rows that wrapped are cleared with it.
 */
export class StatusArea implements Disposable {
  readonly #terminal: Terminal;
  /** Widths of the rows as they were drawn. */
  #drawn: readonly number[] = [];
  #shown = "";
  #hidden = false;

  constructor(terminal: Terminal) {
    this.#terminal = terminal;
  }

  /** Draws the lines in place of those that are there, below `above`, which stays. */
  draw(lines: readonly string[], above = ""): void {
    const columns = Math.max(MIN_COLUMNS, this.#terminal.columns);
    // What is higher than the terminal could not be taken back.
    const fitting = lines.slice(-Math.max(1, this.#terminal.rows - 1));
    const shown = fitting.map((line) => cutText(line, columns - 1));
    // A frame that would look like the one before it is not drawn.
    const frame = `${columns} ${shown.join("\n")}`;
    if (above === "" && frame === this.#shown) return;
    this.#shown = frame;
    const cursor = this.#hidden || lines.length === 0 ? "" : HIDE_CURSOR;
    if (lines.length > 0) this.#hidden = true;
    const text = `${cursor}${this.#erase(columns)}${above}${shown.join("\n")}`;
    this.#drawn = shown.map((line) => textWidth(line));
    if (text !== "") this.#terminal.write(text);
  }

  /** Removes the area; output continues at its position. */
  [Symbol.dispose](): void {
    const text =
      this.#erase(Math.max(MIN_COLUMNS, this.#terminal.columns)) +
      (this.#hidden ? SHOW_CURSOR : "");
    this.#drawn = [];
    this.#shown = "";
    this.#hidden = false;
    if (text !== "") this.#terminal.write(text);
  }

  #erase(columns: number): string {
    const rows = this.#drawn.reduce(
      (sum, width) => sum + Math.max(1, Math.ceil(width / columns)),
      0,
    );
    if (rows === 0) return "";
    const up = rows > 1 ? `\u001b[${rows - 1}A` : "";
    return `\r${up}\u001b[J`;
  }
}

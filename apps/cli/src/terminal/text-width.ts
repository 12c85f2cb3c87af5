import { createRequire } from "node:module";
import type * as CliTruncate from "cli-truncate";
import type * as StringWidth from "string-width";

const load = createRequire(import.meta.url);

/** Characters of one column each. */
const PLAIN = /^[\u0020-\u007e]*$/;
const COLORS = new RegExp(String.raw`${"\u001b"}\[[\d;]*m`, "g");

/**
 * Columns that a text takes in a terminal. The tables of Unicode are loaded at the first text that needs them: to compile them takes
 * as long as all else that a short command does.
 */
export function textWidth(text: string): number {
  const plain = text.replaceAll(COLORS, "");
  if (PLAIN.test(plain)) return plain.length;
  return (load("string-width") as typeof StringWidth).default(text);
}

/** The text cut to so many columns, with an ellipsis in place of what is left out. */
export function cutText(text: string, columns: number, options: CliTruncate.Options = {}): string {
  if (textWidth(text) <= columns) return text;
  return (load("cli-truncate") as typeof CliTruncate).default(text, columns, options);
}

import { textWidth } from "./text-width.ts";

/** What the later lines of a wrapped line begin with, by what it begins with. */
const HANGING: readonly (readonly [begin: RegExp, indent: string])[] = [
  [/^ {2}# {3}/, "  #   "],
  [/^ {2}# /, "  #   "],
  [/^\S/, "    "],
];

const COLOR = String.raw`${"\u001b"}\[[\d;]*m`;
const COLORS = new RegExp(COLOR, "g");
/** Blanks at the begin of a line, the sign of a comment, and colors; they belong to the first word. */
const BEGIN = new RegExp(String.raw`^((?:${COLOR}|\s|# +)*)(.*)$`, "s");

/**
 * Breaks lines of prose at blanks, so that a terminal need not break them inside words. Lines that begin with
 * a blank are values, which stay as they are, but for the comments of a plan (`  # ...`).
 *
 * @param columns of the terminal; `Infinity` leaves everything as it is
 * @param hanging the beginning of the later lines of every line, regardless of its own
 */
export function wrapWords(text: string, columns: number, hanging?: string): string {
  if (!Number.isFinite(columns)) return text;
  return text
    .split("\n")
    .map((line) => wrapLine(line, columns, hanging))
    .join("\n");
}

function wrapLine(line: string, columns: number, hanging: string | undefined): string {
  if (textWidth(line) <= columns) return line;
  const plain = line.replaceAll(COLORS, "");
  const indent = hanging ?? HANGING.find(([begin]) => begin.test(plain))?.[1];
  if (indent === undefined) return line;
  const [, begin = "", rest = ""] = BEGIN.exec(line) ?? [];
  const lines: string[] = [];
  let current = begin;
  let isEmpty = true;
  for (const word of rest.split(" ")) {
    const longer = isEmpty ? `${current}${word}` : `${current} ${word}`;
    if (!isEmpty && textWidth(longer) > columns) {
      lines.push(current);
      current = `${indent}${word}`;
    } else current = longer;
    isEmpty = false;
  }
  return [...lines, current].join("\n");
}

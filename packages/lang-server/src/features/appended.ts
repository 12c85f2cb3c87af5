import type { TextEdit } from "vscode-languageserver-protocol";
import { Lines } from "../document/locate.ts";

/** The edit that adds a block at the end of a file, with an empty line before it. */
export function appended(text: string | undefined, block: string): TextEdit {
  const own = text ?? "";
  const end = new Lines(own).range({ start: own.length, end: own.length });
  const gap = own === "" ? "" : own.endsWith("\n") ? "\n" : "\n\n";
  return { range: end, newText: `${gap}${block}` };
}

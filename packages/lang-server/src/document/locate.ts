import { fileURLToPath, pathToFileURL } from "node:url";
import type { Location, Range } from "vscode-languageserver-protocol";
import { TextDocument } from "vscode-languageserver-textdocument";
import type { Span } from "../index/symbol.ts";

/** The path of a document; undefined for those that are no files. */
export function pathOf(uri: string): string | undefined {
  if (!uri.startsWith("file:")) return undefined;
  try {
    return fileURLToPath(uri);
  } catch {
    return undefined;
  }
}

export function uriOf(path: string): string {
  return pathToFileURL(path).href;
}

/** Lines of one text, for many spans of it. */
export class Lines {
  readonly #document: TextDocument;

  constructor(text: string) {
    this.#document = TextDocument.create("", "", 0, text);
  }

  range({ start, end }: Span): Range {
    return { start: this.#document.positionAt(start), end: this.#document.positionAt(end) };
  }

  offset(position: Range["start"]): number {
    return this.#document.offsetAt(position);
  }
}

/** Spans of files as the protocol has them. Each text is divided into lines once. */
export class Locations {
  readonly #textOf: (path: string) => string | undefined;
  readonly #lines = new Map<string, Lines>();

  constructor(textOf: (path: string) => string | undefined) {
    this.#textOf = textOf;
  }

  of({ path, span }: { readonly path: string; readonly span: Span }): Location {
    let lines = this.#lines.get(path);
    if (lines === undefined) {
      lines = new Lines(this.#textOf(path) ?? "");
      this.#lines.set(path, lines);
    }
    return { uri: uriOf(path), range: lines.range(span) };
  }
}

import { existsSync, readFileSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { type ParseResult, parseSync } from "oxc-parser";

/** A source file, parsed. */
export interface ParsedFile {
  /** Absolute. */
  readonly path: string;
  readonly text: string;
  readonly program: ParseResult["program"];
  readonly comments: ParseResult["comments"];
  readonly module: ParseResult["module"];
}

/** Where an exported name is declared: in a file, or in another package. */
export type ExportedName = { readonly name: string } & (
  | { readonly kind: "declared"; readonly file: ParsedFile; readonly localName: string }
  | { readonly kind: "passed on"; readonly from: string }
);

/** Longest chain of files that pass a name on. */
const MAX_FILES = 16;

/** Reads which names files export, and where they are declared. Files are parsed once. */
export class ExportedNames {
  readonly #files = new Map<string, ParsedFile>();

  /** The names that a file exports, in the order of the file. */
  of(path: string): readonly ExportedName[] {
    const { module } = this.#parsed(path);
    return module.staticExports
      .flatMap(({ entries }) => entries)
      .flatMap(({ exportName }) => exportName.name ?? [])
      .map((name) => this.#find(path, name));
  }

  #parsed(path: string): ParsedFile {
    const known = this.#files.get(path);
    if (known !== undefined) return known;
    const text = readFileSync(path, "utf8");
    const { program, comments, module, errors } = parseSync(path, text);
    if (errors[0] !== undefined) throw new Error(`${path}: ${errors[0].message}`);
    const parsed = { path, text, program, comments, module };
    this.#files.set(path, parsed);
    return parsed;
  }

  #find(start: string, name: string): ExportedName {
    let [path, wanted] = [start, name];
    for (let step = 0; step < MAX_FILES; step++) {
      const file = this.#parsed(path);
      const entry = file.module.staticExports
        .flatMap(({ entries }) => entries)
        .find(({ exportName }) => exportName.name === wanted);
      const from = entry?.moduleRequest?.value;
      if (from === undefined) {
        return { kind: "declared", name, file, localName: entry?.localName.name ?? wanted };
      }
      const next = resolve(dirname(path), from);
      if (!from.startsWith(".") || !existsSync(next)) return { kind: "passed on", name, from };
      path = next;
      wanted = entry?.importName.name ?? wanted;
    }
    throw new Error(`${start} exports "${name}" through more than ${MAX_FILES} files`);
  }
}

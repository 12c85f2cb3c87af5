import {
  type Body,
  type JsonFile,
  parseFile,
  parseJson,
  type SourceFile,
  type SyntaxFile,
} from "@stackwright/lang";
import { jsonBody } from "./json-body.ts";
import { NameCollector } from "./name-collector.ts";
import type { Declaration, ModuleSymbol, Occurrence, Span } from "./symbol.ts";

/** What a file declares, and which names it has where. */
export interface FileNames {
  readonly source: SourceFile;
  readonly body: Body;
  /** As it was read, in native syntax. */
  readonly file?: SyntaxFile;
  /** As it was read, in JSON syntax. */
  readonly json?: JsonFile;
  readonly declarations: readonly Declaration[];
  /** In the order of the file, declarations among them. */
  readonly occurrences: readonly Occurrence[];
  /** The sources of the module calls by name, as far as they are constants. */
  readonly calls: ReadonlyMap<string, string>;
  /** The sources of required providers by local name. */
  readonly providers: ReadonlyMap<string, string>;
  /** The runs of a test that are about a module of their own, with its source. */
  readonly runs: ReadonlyMap<string, string>;
  /** The module calls of which all outputs are passed on. */
  readonly wholes: ReadonlySet<string>;
}

/** The names of a file in native syntax. */
export interface FileIndex extends FileNames {
  readonly file: SyntaxFile;
}

/** What the names of a file mean: a configuration, values of variables, or runs of a test. */
export type FileRole = "configuration" | "values" | "test";

/**
 * Finds the names of a file. Nothing outside of the file is looked at, so that an index is good for as long as the text is the
 * same; what the names of called modules mean is for the workspace.
 */
export function indexFile(name: string, text: string, role: FileRole): FileIndex {
  const file = parseFile({ name, text });
  return { file, ...namesIn(file.source, file.body, role) };
}

/** The names of a file in JSON syntax, at their places in the file. */
export function indexJson(name: string, text: string, role: FileRole): FileNames {
  const json = parseJson({ name, text });
  return { json, ...namesIn(json.source, jsonBody(json, role), role) };
}

function namesIn(source: SourceFile, body: Body, role: FileRole): FileNames {
  const indexer = new NameCollector();
  indexer[role](body);
  return {
    source,
    body,
    declarations: distinct(indexer.declarations),
    occurrences: distinct(indexer.occurrences).toSorted((a, b) => a.span.start - b.span.start),
    calls: indexer.calls,
    providers: indexer.providers,
    runs: indexer.runs,
    wholes: indexer.wholes,
  };
}

/** Blocks in JSON syntax may have one label together. */
function distinct<T extends { readonly symbol: ModuleSymbol; readonly span: Span }>(
  found: readonly T[],
): readonly T[] {
  const known = new Map<string, T>();
  for (const each of found) {
    const { symbol, span } = each;
    const key = `${symbol.kind} ${symbol.name} ${span.start} ${span.end}`;
    if (!known.has(key)) known.set(key, each);
  }
  return [...known.values()];
}

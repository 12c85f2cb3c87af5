import { readdirSync, readFileSync, statSync } from "node:fs";
import { basename, join, relative, resolve, sep } from "node:path";
import {
  type Body,
  type Expression,
  expressionCalls,
  loadModule,
  ModuleError,
  parseFile,
  parseModuleSource,
  selectModuleFiles,
} from "@stackwright/lang";
import { findRoots } from "../adoption/find-roots.ts";

const SKIPPED = new Set(["node_modules", "vendor"]);
const MAX_DEPTH = 12;
/** Functions whose first argument is the path of a file, or of a folder. */
const READERS = new Set([
  "file",
  "filebase64",
  "filebase64sha256",
  "filebase64sha512",
  "fileexists",
  "filemd5",
  "fileset",
  "filesha1",
  "filesha256",
  "filesha512",
  "templatefile",
]);

/** A root module with the places that its configuration is made of, as far as the text says them. */
interface RootModule {
  /** Absolute. */
  readonly folder: string;
  /** Its folder, those of the local modules that it calls, and files and folders that functions read; absolute. */
  readonly places: readonly string[];
}

interface Module {
  readonly called: readonly string[];
  readonly read: readonly string[];
}

/**
 * The root modules below a folder: what is called by no other module there, and what says itself where its state is. Only constant
 * paths count; what a variable names is not known before a plan.
 */
export function rootModules(directory: string): RootModule[] {
  const modules = new Map<string, Module>();
  const module = (folder: string): Module => {
    const known = modules.get(folder) ?? readModule(folder);
    modules.set(folder, known);
    return known;
  };
  const folders = configurationFolders(directory);
  const called = new Set(folders.flatMap((folder) => module(folder).called));
  const roots = new Set(findRoots(directory).map((folder) => resolve(directory, folder)));
  for (const folder of folders) if (!called.has(folder)) roots.add(folder);
  return [...roots].toSorted().map((folder) => {
    const reached = new Set([folder]);
    for (const each of reached) for (const next of module(each).called) reached.add(next);
    const read = [...reached].flatMap((each) => module(each).read);
    return { folder, places: [...new Set([...reached, ...read])] };
  });
}

/** The changed files that a root module is made of; files of other root modules inside of its folder are none of it. */
export function changesOf(
  { folder, places }: RootModule,
  changed: readonly string[],
  others: readonly RootModule[],
): string[] {
  const inner = others.filter((other) => isBelow(other.folder, folder) && other.folder !== folder);
  return changed.filter((file) =>
    places.some(
      (place) =>
        isBelow(file, place) &&
        (place !== folder || !inner.some((other) => isBelow(file, other.folder))),
    ),
  );
}

function isBelow(path: string, place: string): boolean {
  return path === place || path.startsWith(place.endsWith(sep) ? place : place + sep);
}

function configurationFolders(directory: string): string[] {
  const found: string[] = [];
  const visit = (folder: string, depth: number): void => {
    const entries = readdirSync(folder, { withFileTypes: true });
    const { primary } = selectModuleFiles(
      entries.filter((entry) => entry.isFile()).map(({ name }) => name),
    );
    if (primary.length > 0) found.push(folder);
    if (depth >= MAX_DEPTH) return;
    for (const entry of entries) {
      if (!entry.isDirectory() || entry.name.startsWith(".") || SKIPPED.has(entry.name)) continue;
      visit(join(folder, entry.name), depth + 1);
    }
  };
  visit(resolve(directory), 0);
  return found;
}

function readModule(folder: string): Module {
  const names = statSync(folder, { throwIfNoEntry: false })?.isDirectory()
    ? readdirSync(folder)
    : [];
  const { primary, override } = selectModuleFiles(names);
  const texts = new Map(
    [...primary, ...override].map((name) => [name, readFileSync(join(folder, name))] as const),
  );
  const { config } = loadModule(texts);
  const called = [...config.modules.values()].flatMap(({ source }) => localFolder(folder, source));
  const read = [...texts].flatMap(([name, bytes]) =>
    name.endsWith(".json")
      ? []
      : bodyCalls(parseFile({ name: basename(name), text: bytes.toString() }).body).flatMap(
          (argument) => readPath(folder, argument),
        ),
  );
  return { called, read };
}

function localFolder(folder: string, source: string): string[] {
  try {
    const parsed = parseModuleSource(source);
    return parsed.kind === "local" ? [resolve(folder, parsed.path)] : [];
  } catch (error) {
    if (error instanceof ModuleError) return [];
    throw error;
  }
}

/** The first arguments of all calls that read files. */
function bodyCalls(body: Body): Expression[] {
  return body.items.flatMap((item) => {
    if (item.kind === "block") return bodyCalls(item.body);
    return expressionCalls(item.expression).flatMap(({ name, arguments: [first] }) =>
      READERS.has(name) && first !== undefined ? [first] : [],
    );
  });
}

/** The path that an expression is: text, after `path.module` or `path.root` where it begins with that. */
function readPath(folder: string, expression: Expression): string[] {
  if (expression.kind === "string") return [resolve(folder, expression.value)];
  if (expression.kind !== "template") return [];
  const [first, second] = expression.parts;
  if (expression.parts.length !== 2 || first?.kind !== "scope-traversal") return [];
  const [step] = first.steps;
  if (first.root !== "path" || step?.kind !== "attribute-step" || second?.kind !== "string") {
    return [];
  }
  return step.name === "module" ? [resolve(folder, `./${second.value}`)] : [];
}

/** A path as users write it: relative to a folder, with forward slashes. */
export function shownPath(directory: string, path: string): string {
  const way = relative(directory, path).split(sep).join("/");
  return way === "" ? "." : way;
}

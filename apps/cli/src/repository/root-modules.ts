import { readdirSync, readFileSync, realpathSync, statSync } from "node:fs";
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
  /** Folders of modules that it calls; absolute, as are the others. */
  readonly called: readonly string[];
  /** Folders of modules that its tests call. */
  readonly tested: readonly string[];
  /** Its own files, and what functions read beside them. */
  readonly read: readonly string[];
  /** What functions read from the folder of the root module on; relative to it. */
  readonly readFromRoot: readonly string[];
}

/**
 * The root modules below a folder: what is called by no other module or test there, and what says itself where its state is. Only
 * constant paths count; what a variable names is not known before a plan.
 */
export function rootModules(directory: string): RootModule[] {
  const modules = new Map<string, Module>();
  const module = (folder: string): Module => {
    const known = modules.get(folder) ?? readModule(folder);
    modules.set(folder, known);
    return known;
  };
  const folders = configurationFolders(directory);
  const called = new Set(
    withTargets(folders.flatMap((folder) => [...module(folder).called, ...module(folder).tested])),
  );
  const roots = new Set(findRoots(directory).map((folder) => resolve(directory, folder)));
  for (const folder of folders) if (!called.has(folder)) roots.add(folder);
  return [...roots].toSorted().map((folder) => {
    const reached = new Set([folder]);
    for (const each of reached) for (const next of module(each).called) reached.add(next);
    const read = [...reached].flatMap((each) => {
      const { read: beside, readFromRoot } = module(each);
      return [...beside, ...readFromRoot.map((path) => resolve(folder, path))];
    });
    return { folder, places: [...new Set(withTargets([...reached, ...read]))] };
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

/** The paths, and where they lead to by links: Git names the file that has changed, not the links to it. */
function withTargets(paths: readonly string[]): string[] {
  return paths.flatMap((path) => {
    if (statSync(path, { throwIfNoEntry: false }) === undefined) return [path];
    return [path, realpathSync(path)];
  });
}

function isBelow(path: string, place: string): boolean {
  return path === place || path.startsWith(place.endsWith(sep) ? place : place + sep);
}

function configurationFolders(directory: string): string[] {
  const found: string[] = [];
  const visit = (folder: string, depth: number): void => {
    const entries = readdirSync(folder, { withFileTypes: true });
    const { primary } = selectModuleFiles(
      entries
        .filter((entry) => !entry.isDirectory() && isFile(join(folder, entry.name)))
        .map(({ name }) => name),
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

function isFile(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isFile() === true;
}

function filesIn(folder: string): string[] {
  if (statSync(folder, { throwIfNoEntry: false })?.isDirectory() !== true) return [];
  return readdirSync(folder).filter((name) => isFile(join(folder, name)));
}

function readModule(folder: string): Module {
  const names = filesIn(folder);
  const { primary, override } = selectModuleFiles(names);
  const texts = new Map(
    [...primary, ...override].map((name) => [name, readFileSync(join(folder, name))] as const),
  );
  const { config } = loadModule(texts);
  const called = [...config.modules.values()].flatMap(({ source }) => localFolder(folder, source));
  const read = [...texts.keys()].map((name) => join(folder, name));
  const readFromRoot: string[] = [];
  for (const [name, bytes] of texts) {
    if (name.endsWith(".json")) continue;
    const { body } = parseFile({ name: basename(name), text: bytes.toString() });
    for (const argument of bodyCalls(body)) {
      const found = readPath(argument);
      if (found?.from === "module") read.push(resolve(folder, found.path));
      else if (found !== undefined) readFromRoot.push(found.path);
    }
  }
  return { called, tested: testedFolders(folder, names), read, readFromRoot };
}

/** The modules that `run` blocks of tests call instead of the one that they test. */
function testedFolders(folder: string, names: readonly string[]): string[] {
  const files = [
    ...names.map((name) => join(folder, name)),
    ...filesIn(join(folder, "tests")).map((name) => join(folder, "tests", name)),
  ];
  return files.flatMap((path) => {
    if (!/\.tf(?:test|mock)\.hcl$|\.tofutest\.hcl$/.test(path)) return [];
    const { body } = parseFile({ name: basename(path), text: readFileSync(path, "utf8") });
    const runs = body.items.filter((item) => item.kind === "block" && item.type === "run");
    const calls = runs.flatMap((run) => (run.kind === "block" ? run.body.items : []));
    return calls.flatMap((call) => {
      if (call.kind !== "block" || call.type !== "module") return [];
      return call.body.items.flatMap((item) =>
        item.kind === "attribute" && item.name === "source" && item.expression.kind === "string"
          ? localFolder(folder, item.expression.value)
          : [],
      );
    });
  });
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

/**
 * The path that an expression is, and what it begins at: text, after `path.module`, `path.root` or `path.cwd` where it begins with
 * that. Text alone begins where the command runs, which is the root module.
 */
function readPath(
  expression: Expression,
): { readonly from: "module" | "root"; readonly path: string } | undefined {
  if (expression.kind === "string") return { from: "root", path: expression.value };
  if (expression.kind !== "template") return undefined;
  const [first, second] = expression.parts;
  if (expression.parts.length !== 2 || first?.kind !== "scope-traversal") return undefined;
  const [step] = first.steps;
  if (first.root !== "path" || step?.kind !== "attribute-step" || second?.kind !== "string") {
    return undefined;
  }
  return { from: step.name === "module" ? "module" : "root", path: `./${second.value}` };
}

/** A path as users write it: relative to a folder, with forward slashes. */
export function shownPath(directory: string, path: string): string {
  const way = relative(directory, path).split(sep).join("/");
  return way === "" ? "." : way;
}

import { readdirSync, readFileSync, statSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { ModuleError, parseModuleSource } from "@stackwright/lang";
import {
  type FileIndex,
  type FileNames,
  type FileRole,
  indexFile,
  indexJson,
} from "./file-index.ts";
import { type Declaration, type ModuleSymbol, type Occurrence, sameSymbol } from "./symbol.ts";

/** Bounds on what is looked at of a workspace. */
export interface WorkspaceLimits {
  /** Most files that are searched. @default 2000 */
  readonly maxFiles?: number;
  /** Larger files are passed over, in bytes. @default 4 MiB */
  readonly maxFileBytes?: number;
  /** Deepest nesting of folders. @default 16 */
  readonly maxDepth?: number;
}

/** An occurrence with its file, and the folder of the module that has the symbol; of a run its file. */
export interface PlacedOccurrence extends Occurrence {
  readonly path: string;
  readonly folder: string;
}

/** A declaration with its file. */
export interface PlacedDeclaration extends Declaration {
  readonly path: string;
}

interface Cached {
  readonly stamp: string;
  readonly text: string;
}

const ANY_CONFIGURATION = /\.(?:tf|tofu)(?:\.json)?$/;
const OTHER =
  /\.(?:tf|tofu|tfvars|tftest|tfmock|tofutest)\.json$|\.(?:tftest|tfmock|tofutest)\.hcl$/;
const KINDS: readonly (readonly [RegExp, FileRole])[] = [
  [/\.(?:tf|tofu)(\.json)?$/, "configuration"],
  [/\.tfvars(\.json)?$/, "values"],
  [/\.(?:tf|tofu)test\.(?:hcl|(json))$/, "test"],
];
/** Modules have their tests beside them, or here. */
const TESTS_FOLDER = "tests";
const SKIPPED_FOLDERS = new Set(["node_modules"]);

/** What the names in a file mean; undefined for files that have no index. */
export function fileRole(path: string): "configuration" | "values" | undefined {
  const kind = fileKind(path);
  return kind === undefined || kind.isJson || kind.role === "test" ? undefined : kind.role;
}

/** Whether the blocks of a file of the configuration change those of others, and are none themselves. */
export function isOverride(path: string): boolean {
  return /(?:^|_)override\.(?:tf|tofu)(?:\.json)?$/.test(basename(path));
}

/** A file whose names are known. */
interface FileKind {
  readonly role: FileRole;
  readonly isJson: boolean;
}

/** What the names in a file of either syntax mean; undefined for files that are not looked at. */
export function fileKind(path: string): FileKind | undefined {
  const name = basename(path);
  if (name.startsWith(".") || name.endsWith("~")) return undefined;
  for (const [pattern, role] of KINDS) {
    const found = pattern.exec(name);
    if (found !== null) return { role, isJson: found[1] !== undefined };
  }
  return undefined;
}

/**
 * The files of a workspace as the editor sees them: those that are open with their text there, the others as they are on disk.
 *
 * Indexes are kept by text. A file on disk is read again when its size or time of change differs, so that the workspace is right
 * also where the editor reports no changes.
 */
export class Workspace {
  readonly #limits: Required<WorkspaceLimits>;
  readonly #open = new Map<string, string>();
  readonly #disk = new Map<string, Cached>();
  readonly #names = new Map<string, { readonly text: string; readonly names: FileNames }>();
  #roots: readonly string[] = [];

  constructor(limits: WorkspaceLimits = {}) {
    this.#limits = {
      maxFiles: limits.maxFiles ?? 2000,
      maxFileBytes: limits.maxFileBytes ?? 4 * 1024 * 1024,
      maxDepth: limits.maxDepth ?? 16,
    };
  }

  /** The folders that are searched for users of a module. */
  setRoots(folders: readonly string[]): void {
    this.#roots = folders;
  }

  /** The text of a file in the editor, new or changed. Of one that is too large nothing is known but that it is there. */
  setOpen(path: string, text: string): void {
    this.#open.set(path, text);
  }

  close(path: string): void {
    this.#open.delete(path);
    this.#names.delete(path);
  }

  get openFiles(): ReadonlyMap<string, string> {
    return this.#open;
  }

  isOpen(path: string): boolean {
    return this.#open.has(path);
  }

  /** The text of a file; undefined where it cannot be read or is too large. */
  text(path: string): string | undefined {
    const open = this.#open.get(path);
    if (open !== undefined) return open.length > this.#limits.maxFileBytes ? undefined : open;
    const stats = statSync(path, { throwIfNoEntry: false });
    if (stats?.isFile() !== true || stats.size > this.#limits.maxFileBytes) return undefined;
    const stamp = `${stats.mtimeMs} ${stats.size}`;
    const cached = this.#disk.get(path);
    if (cached?.stamp === stamp) return cached.text;
    try {
      const text = readAsEditors(path);
      this.#disk.set(path, { stamp, text });
      return text;
    } catch {
      return undefined;
    }
  }

  /** The index of a file in native syntax that belongs to a configuration; tests have none. */
  index(path: string): FileIndex | undefined {
    if (fileRole(path) === undefined) return undefined;
    const names = this.names(path);
    return names?.file === undefined ? undefined : { ...names, file: names.file };
  }

  /** The names of a file in either syntax, tests among them. */
  names(path: string): FileNames | undefined {
    const kind = fileKind(path);
    const text = kind === undefined ? undefined : this.text(path);
    if (kind === undefined || text === undefined) return undefined;
    const known = this.#names.get(path);
    if (known?.text === text) return known.names;
    const names = (kind.isJson ? indexJson : indexFile)(basename(path), text, kind.role);
    this.#names.set(path, { text, names });
    return names;
  }

  /** The files of a folder that have an index, sorted. */
  filesOf(folder: string): readonly string[] {
    return this.#filesWhere(folder, (name) => fileRole(name) !== undefined);
  }

  /** The files of a folder whose names are known, sorted. */
  namedFilesOf(folder: string): readonly string[] {
    return this.#filesWhere(folder, (name) => fileKind(name) !== undefined);
  }

  #filesWhere(folder: string, isWanted: (name: string) => boolean): readonly string[] {
    const names = new Set(entries(folder).flatMap((entry) => (entry.isFile() ? [entry.name] : [])));
    for (const path of this.#open.keys()) if (dirname(path) === folder) names.add(basename(path));
    return [...names]
      .filter(isWanted)
      .toSorted()
      .map((name) => join(folder, name));
  }

  /** The files of a module that have no index: JSON syntax, tests, and what is too large. */
  otherFilesOf(folder: string): readonly string[] {
    const files = (place: string) =>
      entries(place)
        .filter((entry) => entry.isFile() && OTHER.test(entry.name))
        .map((entry) => join(place, entry.name));
    const large = this.filesOf(folder).filter((path) => this.text(path) === undefined);
    return [...files(folder), ...files(join(folder, "tests")), ...large];
  }

  /** The files of a module, and of its tests, of which not all names are known: mocks, what is too large, and what is no JSON. */
  unreadFilesOf(folder: string): readonly string[] {
    const all = [folder, join(folder, TESTS_FOLDER)].flatMap((place) =>
      this.#filesWhere(place, (name) => fileKind(name) !== undefined || OTHER.test(name)),
    );
    return all.filter((path) => {
      const names = this.names(path);
      return names === undefined || (names.json?.diagnostics.length ?? 0) > 0;
    });
  }

  /** The tests of the workspace. */
  tests(): readonly string[] {
    return this.folders().flatMap((folder) =>
      this.#filesWhere(folder, (name) => fileKind(name)?.role === "test"),
    );
  }

  /** The folders of the modules that a test is about, that of the file first. */
  modulesOfTest(path: string): readonly string[] {
    const owner = this.#ownerOfTest(path);
    if (owner === undefined) return [];
    const sources = [...(this.names(path)?.runs.values() ?? [])];
    const others = sources.flatMap((source) => localFolder(owner, source) ?? []);
    return [...new Set([owner, ...others])];
  }

  #ownerOfTest(path: string): string | undefined {
    const folder = dirname(path);
    const around = dirname(folder);
    const isOfAround = basename(folder) === TESTS_FOLDER && this.hasConfiguration(around);
    return isOfAround ? around : this.ownerOfValues(path);
  }

  /** The folder of the module that a file of values is for, as far as its place says: its own, else the next one around it. */
  ownerOfValues(path: string): string | undefined {
    for (let folder = dirname(path); ; folder = dirname(folder)) {
      if (this.hasConfiguration(folder)) return folder;
      if (this.#roots.includes(folder) || dirname(folder) === folder) return undefined;
    }
  }

  /** The folders whose modules call the one of a folder, by calls in any syntax. */
  callersOf(folder: string): string[] {
    return this.folders().filter((each) => this.#calledBy(each).includes(folder));
  }

  /**
   * The modules that use the one of a folder and that no other one calls, the folder itself where none calls it. Empty where only modules that
   * call each other do.
   */
  rootsOf(folder: string): readonly string[] {
    const callers = new Map<string, string[]>();
    for (const each of this.folders()) {
      for (const called of this.#calledBy(each)) {
        if (called === each) continue;
        callers.set(called, [...(callers.get(called) ?? []), each]);
      }
    }
    const users = reachable(folder, (each) => callers.get(each) ?? []);
    return [...users].filter((each) => !callers.has(each));
  }

  /** The folder and those of all modules on the disk that its module is made of. */
  partsOf(folder: string): ReadonlySet<string> {
    return reachable(folder, (each) => this.#calledBy(each));
  }

  /** Whether the folder has a module, and not values alone. */
  hasConfiguration(folder: string): boolean {
    if (entries(folder).some(({ name }) => ANY_CONFIGURATION.test(name))) return true;
    return this.namedFilesOf(folder).some((file) => fileKind(file)?.role === "configuration");
  }

  /** Whether an open file has the text in the editor that it has on the disk. */
  isAsOnDisk(path: string): boolean {
    try {
      return readAsEditors(path) === this.#open.get(path);
    } catch {
      return false;
    }
  }

  /** The folders that calls of a module name, in any syntax. */
  #calledBy(folder: string): string[] {
    return [...this.namesOf(folder)].flatMap(([, { calls }]) =>
      [...calls.values()].flatMap((source) => localFolder(folder, source) ?? []),
    );
  }

  /** All indexes of a folder in native syntax, with their files. */
  *module(folder: string): Generator<readonly [path: string, index: FileIndex]> {
    for (const path of this.filesOf(folder)) {
      const index = this.index(path);
      if (index !== undefined) yield [path, index];
    }
  }

  /** As {@link module}, of files in either syntax; without tests. */
  *namesOf(folder: string): Generator<readonly [path: string, names: FileNames]> {
    for (const path of this.namedFilesOf(folder)) {
      const names = fileKind(path)?.role === "test" ? undefined : this.names(path);
      if (names !== undefined) yield [path, names];
    }
  }

  /** What the module of a folder declares. */
  declarations(folder: string): PlacedDeclaration[] {
    return [...this.namesOf(folder)].flatMap(([path, { declarations }]) =>
      declarations.map((declaration) => ({ ...declaration, path })),
    );
  }

  /** Where a symbol is declared, in the folder of its module; a run in its file. */
  find(folder: string, symbol: ModuleSymbol): PlacedDeclaration[] {
    const all =
      symbol.kind === "run"
        ? (this.names(folder)?.declarations ?? []).map((each) => ({ ...each, path: folder }))
        : this.declarations(folder);
    return all.filter((found) => sameSymbol(found.symbol, symbol));
  }

  /** The folder of the module that a call names, where that is a local path. */
  calledFolder(folder: string, call: string): string | undefined {
    let found: string | undefined;
    for (const [path, { calls }] of this.namesOf(folder)) {
      const source = calls.get(call);
      // Of overrides the last one counts.
      if (source !== undefined && (found === undefined || isOverride(path))) found = source;
    }
    return found === undefined ? undefined : localFolder(folder, found);
  }

  /** The sources of the required providers of a module, by local name. */
  requiredProviders(folder: string): ReadonlyMap<string, string> {
    return new Map([...this.namesOf(folder)].flatMap(([, { providers }]) => [...providers]));
  }

  /** What is written at an offset of a file, where that is the name of a symbol. */
  occurrenceAt(path: string, offset: number): PlacedOccurrence | undefined {
    const found = this.names(path)?.occurrences.find(
      ({ span }) => span.start <= offset && offset <= span.end,
    );
    return found && this.#place(path, found);
  }

  /** All places of a symbol in the workspace, by file. Users of a module, and tests, are found below the roots. */
  occurrences(folder: string, symbol: ModuleSymbol): PlacedOccurrence[] {
    if (symbol.kind === "run") return this.occurrencesIn(folder, folder, symbol);
    const isOfModule = symbol.kind === "local" || symbol.kind === "provider";
    return [...new Set([folder, ...this.folders()])].flatMap((each) =>
      this.namedFilesOf(each).flatMap((path) => {
        const isElsewhere = each !== folder && isOfModule && fileKind(path)?.role !== "test";
        return isElsewhere ? [] : this.occurrencesIn(path, folder, symbol);
      }),
    );
  }

  /** The places of a symbol in one file. */
  occurrencesIn(path: string, folder: string, symbol: ModuleSymbol): PlacedOccurrence[] {
    const found = this.names(path)?.occurrences ?? [];
    // Of one symbol in one file there are few ways to where it is declared.
    const folders = new Map<string, string | undefined>();
    return found.flatMap((occurrence) => {
      if (!sameSymbol(occurrence.symbol, symbol)) return [];
      const { run, isShared, calls = [] } = occurrence;
      const way = JSON.stringify([run, isShared, ...calls]);
      if (!folders.has(way)) folders.set(way, this.#place(path, occurrence)?.folder);
      return folders.get(way) === folder ? [{ ...occurrence, path, folder }] : [];
    });
  }

  /** The folders of the workspace that hold configurations, as far as the limits allow. */
  folders(): readonly string[] {
    return this.survey().folders;
  }

  /** As {@link folders}, and whether the limits left none out. */
  survey(): { readonly folders: readonly string[]; readonly isComplete: boolean } {
    const found: string[] = [];
    let files = 0;
    let isComplete = true;
    const { maxFiles, maxDepth } = this.#limits;
    const visit = (folder: string, depth: number): void => {
      if (files >= maxFiles || depth > maxDepth) {
        isComplete = false;
        return;
      }
      const all = entries(folder);
      const own = all.filter(
        (entry) => entry.isFile() && (fileRole(entry.name) !== undefined || OTHER.test(entry.name)),
      );
      files += own.length;
      if (own.length > 0) found.push(folder);
      for (const entry of all) {
        const hidden = entry.name.startsWith(".") || SKIPPED_FOLDERS.has(entry.name);
        if (entry.isDirectory() && !hidden) visit(join(folder, entry.name), depth + 1);
      }
    };
    for (const root of this.#roots) visit(root, 0);
    for (const path of this.#open.keys()) {
      const folder = dirname(path);
      if (!found.includes(folder)) found.push(folder);
    }
    return { folders: found, isComplete };
  }

  #place(path: string, occurrence: Occurrence): PlacedOccurrence | undefined {
    let folder = this.#folderOf(path, occurrence);
    for (const call of occurrence.calls ?? []) {
      folder = folder === undefined ? undefined : this.calledFolder(folder, call);
    }
    return folder === undefined ? undefined : { ...occurrence, path, folder };
  }

  /** The folder of the module that a name of a file is of, without its calls. */
  #folderOf(path: string, { symbol, run, isShared }: Occurrence): string | undefined {
    const role = fileKind(path)?.role;
    if (role === "configuration") return dirname(path);
    if (role === "values") return this.ownerOfValues(path);
    if (symbol.kind === "run") return path;
    const owner = this.#ownerOfTest(path);
    const source = run === undefined ? undefined : this.names(path)?.runs.get(run);
    if (source !== undefined) {
      return owner === undefined ? undefined : localFolder(owner, source);
    }
    if (isShared !== true || symbol.kind !== "variable") return owner;
    const declaring = this.modulesOfTest(path).filter((each) => this.find(each, symbol).length > 0);
    return declaring[0] ?? owner;
  }
}

/** Editors keep the mark of the encoding to themselves, and count positions without it. */
function readAsEditors(path: string): string {
  return readFileSync(path, "utf8").replace(/^\uFEFF/, "");
}

/** The folder and what the next ones of each lead to. */
function reachable(folder: string, next: (folder: string) => readonly string[]): Set<string> {
  const found = new Set([folder]);
  // What is added meanwhile is visited, too.
  for (const each of found) for (const other of next(each)) found.add(other);
  return found;
}

function localFolder(folder: string, source: string): string | undefined {
  try {
    const parsed = parseModuleSource(source);
    return parsed.kind === "local" ? resolve(folder, parsed.path) : undefined;
  } catch (error) {
    if (error instanceof ModuleError) return undefined;
    throw error;
  }
}

function entries(folder: string) {
  try {
    return readdirSync(folder, { withFileTypes: true });
  } catch {
    return [];
  }
}

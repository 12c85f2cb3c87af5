import { readdirSync, readFileSync, statSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { ModuleError, parseModuleSource } from "@stackwright/lang";
import { type FileIndex, type FileRole, indexFile } from "./file-index.ts";
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

/** An occurrence with its file, and the folder of the module that has the symbol. */
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

const CONFIGURATION = /\.(?:tf|tofu)$/;
const VALUES = /\.tfvars$/;
const ANY_CONFIGURATION = /\.(?:tf|tofu)(?:\.json)?$/;
const OTHER =
  /\.(?:tf|tofu|tfvars|tftest|tfmock|tofutest)\.json$|\.(?:tftest|tfmock|tofutest)\.hcl$/;
/** The source of a call in JSON syntax; other things may have one as well. */
const JSON_SOURCE = /"source"\s*:\s*"(\.[^"]*)"/g;
const SKIPPED_FOLDERS = new Set(["node_modules"]);

/** What the names in a file mean; undefined for files that are not looked at. */
export function fileRole(path: string): FileRole | undefined {
  const name = basename(path);
  if (name.startsWith(".") || name.endsWith("~")) return undefined;
  if (CONFIGURATION.test(name)) return "configuration";
  return VALUES.test(name) ? "values" : undefined;
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
  readonly #indexes = new Map<string, { readonly text: string; readonly index: FileIndex }>();
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
    this.#indexes.delete(path);
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
      const text = readFileSync(path, "utf8");
      this.#disk.set(path, { stamp, text });
      return text;
    } catch {
      return undefined;
    }
  }

  /** The index of a file in native syntax. */
  index(path: string): FileIndex | undefined {
    const role = fileRole(path);
    const text = role === undefined ? undefined : this.text(path);
    if (role === undefined || text === undefined) return undefined;
    const known = this.#indexes.get(path);
    if (known?.text === text) return known.index;
    const index = indexFile(basename(path), text, role);
    this.#indexes.set(path, { text, index });
    return index;
  }

  /** The files of a folder that have an index, sorted. */
  filesOf(folder: string): readonly string[] {
    const names = new Set(entries(folder).flatMap((entry) => (entry.isFile() ? [entry.name] : [])));
    for (const path of this.#open.keys()) if (dirname(path) === folder) names.add(basename(path));
    return [...names]
      .filter((name) => fileRole(name) !== undefined)
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
    return this.filesOf(folder).some((file) => fileRole(file) === "configuration");
  }

  /** Whether an open file has the text in the editor that it has on the disk. */
  isAsOnDisk(path: string): boolean {
    try {
      // Editors keep the mark of the encoding to themselves.
      return readFileSync(path, "utf8").replace(/^\uFEFF/, "") === this.#open.get(path);
    } catch {
      return false;
    }
  }

  /** The folders that calls of a module name, in any syntax. */
  #calledBy(folder: string): string[] {
    const native = [...this.module(folder)].flatMap(([, { calls }]) => [...calls.values()]);
    const json = this.otherFilesOf(folder).flatMap((path) =>
      path.endsWith(".json")
        ? [...(this.text(path) ?? "").matchAll(JSON_SOURCE)].map(([, source = ""]) => source)
        : [],
    );
    return [...native, ...json].flatMap((source) => localFolder(folder, source) ?? []);
  }

  /** All indexes of a folder, with their files. */
  *module(folder: string): Generator<readonly [path: string, index: FileIndex]> {
    for (const path of this.filesOf(folder)) {
      const index = this.index(path);
      if (index !== undefined) yield [path, index];
    }
  }

  declarations(folder: string): PlacedDeclaration[] {
    return [...this.module(folder)].flatMap(([path, { declarations }]) =>
      declarations.map((declaration) => ({ ...declaration, path })),
    );
  }

  find(folder: string, symbol: ModuleSymbol): PlacedDeclaration[] {
    return this.declarations(folder).filter((found) => sameSymbol(found.symbol, symbol));
  }

  /** The folder of the module that a call names, where that is a local path. */
  calledFolder(folder: string, call: string): string | undefined {
    for (const [, { calls }] of this.module(folder)) {
      const source = calls.get(call);
      if (source !== undefined) return localFolder(folder, source);
    }
    return undefined;
  }

  /** The sources of the required providers of a module, by local name. */
  requiredProviders(folder: string): ReadonlyMap<string, string> {
    return new Map([...this.module(folder)].flatMap(([, { providers }]) => [...providers]));
  }

  /** What is written at an offset of a file, where that is the name of a symbol. */
  occurrenceAt(path: string, offset: number): PlacedOccurrence | undefined {
    const found = this.index(path)?.occurrences.find(
      ({ span }) => span.start <= offset && offset <= span.end,
    );
    return found && this.#place(path, found);
  }

  /** All places of a symbol in the workspace, by file. Users of a module are found below the roots. */
  occurrences(folder: string, symbol: ModuleSymbol): PlacedOccurrence[] {
    const crossesModules = symbol.kind === "variable" || symbol.kind === "output";
    const folders = crossesModules ? new Set([folder, ...this.folders()]) : [folder];
    const found: PlacedOccurrence[] = [];
    for (const each of folders) {
      for (const [path, { occurrences }] of this.module(each)) {
        for (const occurrence of occurrences) {
          if (!sameSymbol(occurrence.symbol, symbol)) continue;
          const isOutside = each !== folder && occurrence.call === undefined;
          if (isOutside && fileRole(path) !== "values") continue;
          const placed = this.#place(path, occurrence);
          if (placed?.folder === folder) found.push(placed);
        }
      }
    }
    return found;
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
    const own = dirname(path);
    const { call } = occurrence;
    const folder =
      call !== undefined
        ? this.calledFolder(own, call)
        : fileRole(path) === "values"
          ? this.ownerOfValues(path)
          : own;
    return folder === undefined ? undefined : { ...occurrence, path, folder };
  }
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

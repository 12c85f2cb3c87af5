import { existsSync, globSync, readFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { parseSync } from "oxc-parser";
import { sourceFiles } from "./source-imports.ts";
import { listPackages, type WorkspacePackage } from "./workspace.ts";

/** One exported name of a file. */
interface ExportedName {
  readonly name: string;
  readonly line: number;
  /** Where a name of another file is passed on: that file and its name there; `*` is the whole file. */
  readonly from: { readonly path: string; readonly name: string } | undefined;
}

/** What one file exports and what it takes from other files of the workspace. */
interface SourceModule {
  /** Absolute. */
  readonly path: string;
  readonly exports: readonly ExportedName[];
  /** Files passed on with `export *`. */
  readonly stars: readonly string[];
  /** Imported names by absolute path; `*` stands for all of them. */
  readonly uses: readonly { readonly path: string; readonly name: string }[];
}

/** A file that a package offers to others, by the subpath of its exports map. */
interface Entry {
  readonly owner: WorkspacePackage;
  readonly subpath: string;
  /** Absolute. */
  readonly path: string;
}

export interface ModuleGraph {
  readonly modules: ReadonlyMap<string, SourceModule>;
  readonly entries: readonly Entry[];
}

/** All source and test files of the workspace with their imports resolved, for the checks of exports. */
export function readModuleGraph(root: string): ModuleGraph {
  const packages = listPackages(root);
  const entries = packages.flatMap(entriesOf);
  const targets = new Map(
    entries.map(({ owner, subpath, path }) => [`${owner.manifest.name}${subpath.slice(1)}`, path]),
  );
  const files = [
    ...globSync("*.{ts,mjs}", { cwd: root }).map((file) => join(root, file)),
    ...globSync("tools/dev/*.{ts,mjs}", { cwd: root }).map((file) => join(root, file)),
    ...packages.flatMap(({ path }) => sourceFiles(path).map((file) => join(path, file))),
  ];
  const modules = new Map(files.map((path) => [path, readModule(path, targets)]));
  return { modules, entries };
}

function entriesOf(owner: WorkspacePackage): Entry[] {
  return Object.entries(owner.manifest.exports ?? {}).flatMap(([subpath, target]) => {
    const file = typeof target === "string" ? target : target.default;
    const path = file === undefined ? undefined : join(owner.path, file);
    return path !== undefined && existsSync(path) ? [{ owner, subpath, path }] : [];
  });
}

function readModule(path: string, targets: ReadonlyMap<string, string>): SourceModule {
  const source = readFileSync(path, "utf8");
  const { module } = parseSync(path, source);
  const find = (specifier: string) =>
    specifier.startsWith(".") ? resolve(dirname(path), specifier) : targets.get(specifier);
  const uses: { path: string; name: string }[] = [];
  const use = (specifier: string, name: string) => {
    const target = find(specifier);
    if (target !== undefined) uses.push({ path: target, name });
  };
  for (const { moduleRequest, entries } of module.staticImports) {
    for (const { importName } of entries) {
      use(
        moduleRequest.value,
        importName.name ?? (importName.kind.startsWith("Default") ? "default" : "*"),
      );
    }
  }
  // The record of a module has neither `import("./a.ts").Name` in a type nor what a dynamic import takes.
  for (const [, specifier, name] of source.matchAll(
    /\bimport\(\s*"([^"]+)"\s*,?\s*\)(?:\.([A-Za-z_$][\w$]*))?/g,
  )) {
    use(specifier ?? "", name === undefined || name === "then" ? "*" : name);
  }
  const exports: ExportedName[] = [];
  const stars: string[] = [];
  for (const entry of module.staticExports.flatMap((statement) => statement.entries)) {
    const request = entry.moduleRequest?.value;
    const target = request === undefined ? undefined : find(request);
    if (entry.exportName.kind.startsWith("None")) {
      if (target !== undefined) stars.push(target);
      continue;
    }
    const line = source.slice(0, entry.start).split("\n").length;
    const name = entry.exportName.name ?? "default";
    const from =
      target === undefined ? undefined : { path: target, name: entry.importName.name ?? "*" };
    exports.push({ name, line, from });
    if (from !== undefined) uses.push(from);
  }
  return { path, exports, stars, uses };
}

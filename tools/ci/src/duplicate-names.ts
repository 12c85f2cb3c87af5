import { relative, sep } from "node:path";
import type { ModuleGraph } from "./module-graph.ts";

/** Messages of a protocol are generated and named by it; what a package makes of one may have its name. */
const GENERATED = /\/gen\//;

/**
 * Names that the public entries of several packages export with different definitions: a reader of an import does not
 * know which one is meant. A package that passes on a name of another exports the same definition.
 */
export function duplicateNames(root: string, graph: ModuleGraph): string[] {
  /** By name, by package: the definition as `file#name`. */
  const found = new Map<string, Map<string, string>>();
  for (const { owner, path } of graph.entries) {
    if (!owner.folder.startsWith("packages/")) continue;
    for (const [name, definition] of definitionsOf(graph, path)) {
      if (GENERATED.test(definition)) continue;
      const owners = found.get(name) ?? new Map<string, string>();
      found.set(name, owners.set(`${owner.folder} ${definition}`, definition));
    }
  }
  const problems: string[] = [];
  for (const [name, owners] of found) {
    const folders = new Map<string, Set<string>>();
    for (const [key, definition] of owners) {
      const folder = key.slice(0, key.indexOf(" "));
      folders.set(folder, (folders.get(folder) ?? new Set()).add(definition));
    }
    const definitions = new Set(owners.values());
    if (folders.size < 2 || definitions.size < 2) continue;
    const places = [...definitions].map((definition) =>
      relative(root, definition).replaceAll(sep, "/"),
    );
    problems.push(
      `${[...folders.keys()].join(" and ")} export "${name}" with different definitions (${places.join(", ")}): rename one, or let both use one definition`,
    );
  }
  return problems.toSorted();
}

/** The exported names of a file, each with the file that defines it. */
function definitionsOf({ modules }: ModuleGraph, entry: string): ReadonlyMap<string, string> {
  const result = new Map<string, string>();
  const seen = new Set<string>();
  const visit = (path: string) => {
    const module = modules.get(path);
    if (module === undefined || seen.has(path)) return;
    seen.add(path);
    for (const { name } of module.exports) {
      if (name !== "default" && !result.has(name))
        result.set(name, definitionOf(modules, path, name));
    }
    for (const star of module.stars) visit(star);
  };
  visit(entry);
  return result;
}

function definitionOf(modules: ModuleGraph["modules"], path: string, name: string): string {
  const seen = new Set<string>();
  for (let at = { path, name }; ; ) {
    const key = `${at.path}#${at.name}`;
    const from = modules.get(at.path)?.exports.find((entry) => entry.name === at.name)?.from;
    const star = modules
      .get(at.path)
      ?.stars.find((file) => modules.get(file)?.exports.some((entry) => entry.name === at.name));
    const next = from ?? (star === undefined ? undefined : { path: star, name: at.name });
    if (next === undefined || seen.has(key)) return key;
    seen.add(key);
    at = next;
  }
}

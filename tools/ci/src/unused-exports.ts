import { relative, sep } from "node:path";
import type { ModuleGraph } from "./module-graph.ts";

/** Code that a generator writes: it exports everything it has. */
const GENERATED = /\/(gen|generated)\//;

/** Files whose exports a tool reads by the path of the file, with the tool. */
const READ_BY_TOOLS: Readonly<Record<string, string>> = {
  "packages/storage/src/engine/postgres/schema.ts": "drizzle-kit, by drizzle.config.ts",
};

/**
 * Exports that no other file imports. What an exports map leads to counts as used, and a default export: a tool reads it
 * by the path of its file.
 */
export function unusedExports(root: string, { modules, entries }: ModuleGraph): string[] {
  const used = new Map<string, Set<string>>();
  const add = (path: string, name: string) => {
    const names = used.get(path) ?? new Set();
    used.set(path, names.add(name));
  };
  for (const { path } of entries) add(path, "*");
  for (const { uses, stars } of modules.values()) {
    for (const { path, name } of uses) add(path, name);
    for (const path of stars) add(path, "*");
  }
  const problems: string[] = [];
  for (const { path, exports } of modules.values()) {
    const names = used.get(path);
    const file = relative(root, path).replaceAll(sep, "/");
    if (GENERATED.test(`/${file}`) || file in READ_BY_TOOLS || names?.has("*") === true) continue;
    for (const { name, line } of exports) {
      if (name === "default" || names?.has(name) === true) continue;
      problems.push(
        `${file}:${line} exports "${name}", which no other file imports: remove the export, or the code where nothing uses it`,
      );
    }
  }
  return problems;
}

import { readdir, readFile, realpath } from "node:fs/promises";
import { join, sep } from "node:path";
import { loadModule, parseModuleSource, selectModuleFiles } from "@stackwright/lang";

/** Modules of one configuration. */
const MAX_MODULES = 1_000;

/** Whether a path is a folder or below it. */
export function isWithin(path: string, folder: string): boolean {
  return path === folder || path.startsWith(folder.endsWith(sep) ? folder : folder + sep);
}

/**
 * The folders of the modules outside of a folder that its configuration calls by local paths, directly or by another module: real paths;
 * one may be below another, and the folder itself below one. What does not exist or cannot be read is left out: the plan says what is
 * wrong with it.
 */
export async function outsideModules(folder: string): Promise<readonly string[]> {
  const found = new Set([folder]);
  for (const module of found) {
    if (found.size > MAX_MODULES) break;
    for (const source of await localSources(module)) {
      const called = await realpath(join(module, source)).catch(() => undefined);
      if (called !== undefined) found.add(called);
    }
  }
  return [...found].filter((path) => !isWithin(path, folder));
}

async function localSources(folder: string): Promise<readonly string[]> {
  const names = await readdir(folder).catch(() => []);
  const { primary, override } = selectModuleFiles(names);
  const contents = new Map<string, Uint8Array>();
  for (const name of [...primary, ...override]) {
    const bytes = await readFile(join(folder, name)).catch(() => undefined);
    if (bytes !== undefined) contents.set(name, bytes);
  }
  const { config } = loadModule(contents, { prefix: "" });
  return [...config.modules.values()].flatMap(({ source }) => {
    try {
      const parsed = parseModuleSource(source);
      return parsed.kind === "local" ? [parsed.path] : [];
    } catch {
      return [];
    }
  });
}

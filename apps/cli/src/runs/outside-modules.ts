import { readdir, readFile, realpath } from "node:fs/promises";
import { join, sep } from "node:path";
import { loadModule, parseModuleSource, selectModuleFiles } from "@stackwright/lang";

/** Modules of one configuration. */
const MAX_MODULES = 1_000;

/** Whether a path is a folder or below it. */
export function isWithin(path: string, folder: string): boolean {
  return path === folder || path.startsWith(folder.endsWith(sep) ? folder : folder + sep);
}

/** A module as a configuration calls it. */
interface OutsideModule {
  /** The path by which it is called, as the links in it are named. */
  readonly path: string;
  /** The folder that this leads to. */
  readonly folder: string;
}

interface CalledModule extends OutsideModule {
  /** The folders of its callers, so that links which lead back make no circle. */
  readonly callers: readonly string[];
}

/**
 * The modules outside of a folder that its configuration calls by local paths, directly or by another module: one may be below another, and
 * the folder itself below one; one that is called by a link is there by that path. What does not exist or cannot be read is left out: the
 * plan says what is wrong with it.
 */
export async function outsideModules(folder: string): Promise<readonly OutsideModule[]> {
  const found = new Map<string, CalledModule>([[folder, { path: folder, folder, callers: [] }]]);
  for (const { path, folder: caller, callers } of found.values()) {
    const above = [...callers, caller];
    for (const source of await localSources(caller)) {
      const called = join(path, source);
      if (found.has(called) || found.size > MAX_MODULES) continue;
      const target = await realpath(called).catch(() => undefined);
      if (target === undefined || (called !== target && above.includes(target))) continue;
      found.set(called, { path: called, folder: target, callers: above });
    }
  }
  return [...found.values()]
    .filter(({ path }) => !isWithin(path, folder))
    .map(({ path, folder: target }) => ({ path, folder: target }));
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

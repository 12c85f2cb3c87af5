import { posix } from "node:path";
import { loadModule, parseModuleSource, selectModuleFiles } from "@stackwright/lang";
import { isBelow, repositoryFolder } from "./git/repository-path.ts";
import type { TreeFiles } from "./git/tree-files.ts";

/** Modules of one configuration. */
const MAX_MODULES = 1_000;

/**
 * The folders of the modules that a root module calls by local paths, directly or by another one, the root module first. What cannot be
 * read or leads out of the repository is left out: the run says what is wrong with it.
 */
export async function moduleFolders(files: TreeFiles, root: string): Promise<readonly string[]> {
  const found = new Set([root]);
  for (const folder of found) {
    if (found.size > MAX_MODULES) break;
    for (const source of await localSources(files, folder)) {
      try {
        const called = repositoryFolder(posix.join(folder === "" ? "." : folder, source));
        if (files.hasFolder(called)) found.add(called);
      } catch {
        // Outside of the repository.
      }
    }
  }
  return [...found].filter((folder) => folder === root || !isBelow(folder, root));
}

async function localSources(files: TreeFiles, folder: string): Promise<readonly string[]> {
  const { primary, override } = selectModuleFiles(files.names(folder));
  const prefix = folder === "" ? "" : `${folder}/`;
  const read = await files.read([...primary, ...override].map((name) => prefix + name));
  const contents = new Map([...read].map(([path, bytes]) => [path.slice(prefix.length), bytes]));
  const { config } = loadModule(contents, { prefix });
  return [...config.modules.values()].flatMap(({ source }) => {
    try {
      const parsed = parseModuleSource(source);
      return parsed.kind === "local" ? [parsed.path] : [];
    } catch {
      return [];
    }
  });
}

import { readdir, readFile, stat } from "node:fs/promises";
import { join, posix } from "node:path";
import {
  loadModule,
  type ModuleConfig,
  parseModuleSource,
  selectModuleFiles,
} from "@stackwright/lang";
import type { ProviderConstraint } from "@stackwright/proto/stackwright";
import { VersionConstraints } from "@stackwright/provider-source";
import { MAX_CONSTRAINED, recordedConstraints } from "../domain/recorded-constraints.ts";

/** Bytes of all configuration files: no request of a server is answered while they are parsed, which takes about a quarter of a second. */
const MAX_BYTES = 256 * 1024;
/** Folders of modules. */
const MAX_FOLDERS = 200;

/** Whether a file of an archive is one that constraints are read from. */
export function hasConstraints(path: string): boolean {
  const { primary, override } = selectModuleFiles([posix.basename(path)]);
  return primary.length + override.length > 0;
}

/**
 * Which versions of its providers a configuration allows, as the root module and those that it calls by local paths say. Modules of elsewhere
 * may allow less: what the run of a configuration finds in them takes the place of this. Private providers have none: theirs always name one version, which says nothing about newer ones. Nothing of a configuration that
 * is too large, that cannot be parsed, or that says more than is recorded.
 *
 * @param directory where its files are
 * @param root folder of the root module
 */
export async function readProviderConstraints(
  directory: string,
  root: string,
): Promise<ProviderConstraint[]> {
  const found = new Map<string, VersionConstraints[]>();
  const folders = new Set([posix.join(root, ".")]);
  let bytes = 0;
  for (const folder of folders) {
    const files = new Map<string, Uint8Array>();
    for (const name of await configurationFiles(join(directory, folder))) {
      const path = join(directory, folder, name);
      bytes += (await stat(path)).size;
      if (bytes > MAX_BYTES) return [];
      files.set(name, await readFile(path));
    }
    const config = configOf(files);
    if (config === undefined) return [];
    for (const { source, version } of config.requiredProviders.values()) {
      if (source === undefined || version === undefined || source.kind === "private") continue;
      const text = source.toString();
      found.set(text, [...(found.get(text) ?? []), version]);
    }
    for (const called of localFolders(config, folder)) folders.add(called);
    if (folders.size > MAX_FOLDERS || found.size > MAX_CONSTRAINED) return [];
  }
  return recordedConstraints(
    [...found].map(([source, all]) => ({
      source,
      versions: VersionConstraints.intersection(...all).toString(),
    })),
  );
}

/** Undefined where the parser gives up, as for a text of a hundred thousand parts: its run fails, and the upload does not. */
function configOf(files: ReadonlyMap<string, Uint8Array>): ModuleConfig | undefined {
  try {
    return loadModule(files).config;
  } catch {
    return undefined;
  }
}

async function configurationFiles(folder: string): Promise<readonly string[]> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
  const names = entries.filter((entry) => entry.isFile()).map(({ name }) => name);
  const { primary, override } = selectModuleFiles(names);
  return [...primary, ...override];
}

/** The folders of the archive that a module calls by local paths. What is wrong with a call is said by the run. */
function localFolders({ modules }: ModuleConfig, folder: string): readonly string[] {
  return [...modules.values()].flatMap(({ source }) => {
    try {
      const parsed = parseModuleSource(source);
      if (parsed.kind !== "local") return [];
      const called = posix.join(folder, parsed.path);
      return called === ".." || called.startsWith("../") ? [] : [called];
    } catch {
      return [];
    }
  });
}

import { createHash } from "node:crypto";
import type { BundleFiles, ModuleNode } from "@stackwright/lang";

/** All modules of a tree, parents first. */
export function* modulesOf(root: ModuleNode): Generator<ModuleNode> {
  yield root;
  for (const child of root.children.values()) yield* modulesOf(child);
}

/**
 * A digest of the configuration files of all modules that are called, by their paths of calls: SHA-256, in hexadecimal.
 * Equal trees have equal digests in any directory; files of modules that are not called do not count.
 */
export function configurationDigest(root: ModuleNode): string {
  const hash = createHash("sha256");
  // A folder that is called many times is read once.
  const folders = new Map<BundleFiles, Map<string, string>>();
  for (const module of modulesOf(root)) {
    const known = folders.get(module.files) ?? new Map<string, string>();
    folders.set(module.files, known);
    const content = known.get(module.folder) ?? contentDigest(module);
    known.set(module.folder, content);
    hash.update(`${module.path.join(".")}\0${content}\0`);
  }
  return hash.digest("hex");
}

function contentDigest(module: ModuleNode): string {
  const hash = createHash("sha256");
  for (const [name, bytes] of module.sources) {
    hash.update(`${name}\0`);
    hash.update(createHash("sha256").update(bytes).digest());
  }
  return hash.digest("hex");
}

/** What plans of release 0.1.0 have for a digest: that of all configuration files below the folder, called or not. */
export function earlierDigest(files: BundleFiles): string {
  const hash = createHash("sha256");
  for (const path of files.list(".")) {
    if (!/\.tf(?:\.json)?$/.test(path)) continue;
    hash.update(`${path}\0`);
    hash.update(createHash("sha256").update(files.read(path)).digest());
  }
  return hash.digest("hex");
}

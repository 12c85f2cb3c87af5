import { dirname, isAbsolute, relative, resolve } from "node:path";
import type { BundleFiles } from "@stackwright/lang";

/**
 * Files with texts of an editor over them.
 *
 * @param root the folder that paths of the files start at, absolute
 * @param texts by absolute path
 */
export function overlayFiles(
  files: BundleFiles,
  root: string,
  texts: ReadonlyMap<string, string>,
): BundleFiles {
  if (texts.size === 0) return files;
  return {
    ...files,
    read: (path) => {
      const text = texts.get(resolve(root, path));
      return text === undefined ? files.read(path) : Buffer.from(text);
    },
    exists: (path) => texts.has(resolve(root, path)) || files.exists(path),
    names: (folder) => {
      const place = resolve(root, folder);
      const further = [...texts.keys()]
        .filter((path) => dirname(path) === place)
        .map((path) => relative(place, path))
        .filter((name) => name !== "" && !isAbsolute(name));
      if (further.length === 0) return files.names(folder);
      return [...new Set([...files.names(folder), ...further])].toSorted();
    },
  };
}

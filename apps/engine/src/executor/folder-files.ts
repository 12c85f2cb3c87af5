import { posix } from "node:path";
import type { BundleFiles } from "@stackwright/lang";

/**
 * The files of a bundle as the root module in one of its folders sees them: paths start there and may climb with `..`, up to the
 * root of the bundle. All else is refused as in any bundle.
 */
export function filesFrom(files: BundleFiles, folder: string): BundleFiles {
  if (folder === "") return files;
  // An absolute path stays one, which the bundle refuses.
  const within = (path: string): string => (path.startsWith("/") ? path : posix.join(folder, path));
  return {
    ...files,
    machine: { workingDirectory: ".", home: "/" },
    read: (path) => files.read(within(path)),
    exists: (path) => files.exists(within(path)),
    names: (path) => files.names(within(path)),
    brokenLinks: (path) => files.brokenLinks?.(within(path)) ?? [],
    list: (path, pattern) => files.list(within(path), pattern),
    absolute: (path) => files.absolute(within(path)),
  };
}

import { readdir } from "node:fs/promises";
import { join, posix, relative, sep } from "node:path";
import { ModuleError, packageFolder } from "@stackwright/lang";
import { isFolder } from "./small-files.ts";

/** A folder of a package; `*` and `?` in it stand for names, and lead to one folder only. */
export async function folderIn(root: string, wanted: string): Promise<string> {
  let found = [root];
  for (const part of wanted.split("/")) {
    if (part === "." || part === "") continue;
    const isPattern = /[*?[]/.test(part);
    const next = await Promise.all(
      found.map(async (folder) => {
        if (!isPattern) return [join(folder, part)];
        const names = await readdir(folder).catch(() => []);
        return names
          .filter((name) => posix.matchesGlob(name, part))
          .map((name) => join(folder, name));
      }),
    );
    found = next.flat();
  }
  const there = found.filter(isFolder);
  const [only, second] = there;
  if (only !== undefined && second === undefined) return only;
  const detail =
    only === undefined
      ? `The package has no folder "${wanted}".`
      : `The package has ${there.length} folders that fit "${wanted}"; name one of them.`;
  throw new ModuleError("Failed to expand subdir globs", detail);
}

/** The same as a path in the package. */
export async function pathIn(root: string, ...wanted: readonly string[]): Promise<string> {
  const path = packageFolder(posix.join(...wanted), wanted.join("//"));
  const found = relative(root, await folderIn(root, path))
    .split(sep)
    .join("/");
  return found === "" ? "." : found;
}

import { join, normalize } from "node:path";
import type { BundleFiles } from "../eval/host.ts";
import { bundlePath } from "./bundle-path.ts";
import { invalidArgument } from "./parameter.ts";

/**
 * Returns a path in the form in which the methods of {@link BundleFiles} take it: in a bundle one that does not leave it; on a
 * machine any path, `~` expanded.
 */
export function filePath(files: BundleFiles, path: string): string {
  if (files.machine === undefined) return bundlePath(path, files.adviceOutside);
  if (path.includes("\0")) invalidArgument("a path must not hold null characters", 0);
  const clean = normalize(expandHome(files, path));
  return clean.length > 1 ? clean.replace(/\/$/, "") : clean;
}

/** Expands `~` at the beginning of a path. A bundle has no home directory. */
export function expandHome({ machine }: BundleFiles, path: string): string {
  if (!path.startsWith("~")) return path;
  if (machine === undefined) {
    return invalidArgument(
      "there is no home directory here: paths are inside of the template bundle",
      0,
    );
  }
  if (path === "~" || path.startsWith("~/")) return join(machine.home, path.slice(1));
  return invalidArgument("cannot expand the home directory of another user", 0);
}

import { invalidArgument } from "./parameter.ts";

/**
 * A path in a bundle in its shortest form, relative to the root of the bundle. What would leave the
 * bundle is refused: absolute paths, `~`, and `..` beyond the root, this with the advice of the bundle.
 */
export function bundlePath(path: string, adviceOutside?: string): string {
  if (path.includes("\0")) invalidArgument("a path must not hold null characters", 0);
  if (path.startsWith("~"))
    invalidArgument("there is no home directory here: paths are inside of the template bundle", 0);
  if (path.startsWith("/")) {
    invalidArgument(
      "absolute paths are not possible: paths are relative to the root of the template bundle",
      0,
    );
  }
  const parts: string[] = [];
  for (const part of path.split("/")) {
    if (part === "" || part === ".") continue;
    if (part !== "..") parts.push(part);
    else if (parts.pop() === undefined) invalidArgument(leadsOut(adviceOutside), 0);
  }
  return parts.length === 0 ? "." : parts.join("/");
}

function leadsOut(advice: string | undefined): string {
  return `the path leads out of the template bundle${advice === undefined ? "" : `; ${advice}`}`;
}

/** The last part of a path. */
export function baseName(path: string): string {
  if (path === "") return ".";
  const trimmed = path.replace(/(?<!\/)\/+$/, "");
  if (trimmed === "") return "/";
  return trimmed.slice(trimmed.lastIndexOf("/") + 1);
}

/** A path without its last part, in its shortest form. */
export function directoryName(path: string): string {
  return shortestPath(path.slice(0, path.lastIndexOf("/") + 1));
}

function shortestPath(path: string): string {
  const rooted = path.startsWith("/");
  const parts: string[] = [];
  for (const part of path.split("/")) {
    if (part === "" || part === ".") continue;
    const climbs = part === ".." && (parts.length === 0 ? !rooted : parts.at(-1) === "..");
    if (part !== ".." || climbs) parts.push(part);
    else parts.pop();
  }
  const joined = parts.join("/");
  if (rooted) return `/${joined}`;
  return joined === "" ? "." : joined;
}

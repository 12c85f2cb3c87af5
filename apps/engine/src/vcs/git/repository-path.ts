import { posix } from "node:path";
import { ServerError } from "../../domain/server-error.ts";

/** A folder of a repository in its shortest form; empty for the repository itself. `unprocessable` where a path leads out of it. */
export function repositoryFolder(path: string): string {
  const clean = posix.join(path === "" ? "." : path).replace(/\/+$/, "");
  if (clean === ".") return "";
  if (clean.startsWith("/") || clean === ".." || clean.startsWith("../")) {
    throw new ServerError("unprocessable", `the folder ${path} is outside of the repository`);
  }
  return clean;
}

/** Whether a path is a folder or below it. */
export function isBelow(path: string, folder: string): boolean {
  return folder === "" || path === folder || path.startsWith(`${folder}/`);
}

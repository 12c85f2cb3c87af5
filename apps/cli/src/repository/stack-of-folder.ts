import { basename, relative, sep } from "node:path";

/** The name of the stack of a root module in a store that several share: its path from the top of the repository, or its own name where it is elsewhere. */
export function stackOfFolder(top: string, folder: string): string {
  const path = relative(top, folder).split(sep);
  const isElsewhere = path[0] === "..";
  const name = isElsewhere ? basename(folder) : path.join("-");
  return (name === "" ? "root" : name).replace(/[^A-Za-z0-9._-]/g, "-");
}

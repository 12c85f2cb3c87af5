import { isAbsolute, normalize } from "node:path";
import { CommandError } from "../command-error.ts";

/** `CommandError` for a folder outside of the configuration. */
export function checkedFolder(folder: string): string {
  const path = normalize(folder);
  if (!isAbsolute(path) && path !== ".." && !path.startsWith("../")) return path;
  throw new CommandError(`Invalid testing directory: "${folder}" is not in the configuration.`, {
    advice:
      "Name a folder of the configuration, relative to its own folder: -test-directory=tests.",
  });
}

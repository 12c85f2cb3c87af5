import { StackDirectory } from "@stackwright/core";
import type { StorageBackend } from "@stackwright/storage";

/** Finds what uses of private providers name for a stack: account, project and id. Commands that record uses name it so. */
export function userOfStackIn(
  storage: StorageBackend,
): (account: string, stack: string) => Promise<string | undefined> {
  const directory = new StackDirectory({ storage });
  return async (account, stack) => {
    const [project = "", name = ""] = stack.split("/");
    const found = await directory.find({ account, project }, name);
    return found && `${account}/${project}/${found.reference.stack}`;
  };
}

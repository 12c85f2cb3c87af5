import type { Workspace } from "../index/workspace.ts";

/** Whether a file of a module that is not indexed may have a name: it would keep what it says about it. */
export function isNamedUnread(workspace: Workspace, folder: string, name: string): boolean {
  return workspace
    .otherFilesOf(folder)
    .some((path) => workspace.text(path)?.includes(name) ?? true);
}

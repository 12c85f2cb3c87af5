import { join } from "node:path";
import { LOCK_FILE_NAME, type ProviderLock, parseLockFile } from "@stackwright/provider-source";
import type { Workspace } from "../index/workspace.ts";

/** What the lock file of a folder has. Without one, or with one that cannot be read, there is nothing. */
export function locksOf(workspace: Workspace, folder: string): readonly ProviderLock[] {
  try {
    const { locks } = parseLockFile(workspace.text(join(folder, LOCK_FILE_NAME)) ?? "");
    return [...locks.providers.values()];
  } catch {
    return [];
  }
}

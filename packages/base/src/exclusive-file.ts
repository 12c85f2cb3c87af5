import { link, open, rename, rm } from "node:fs/promises";

/** File systems without hard links: FAT, some network shares and mounts of containers. */
const NO_LINKS = new Set(["EPERM", "ENOTSUP", "EOPNOTSUPP", "ENOSYS", "EMLINK", "EINVAL"]);

/**
 * Moves a complete file to a name that is not used; its old name is removed in any case. False where the name is used. With hard links the file
 * appears whole; without them an empty file claims the name until the content replaces it.
 */
export async function nameExclusively(fresh: string, path: string): Promise<boolean> {
  try {
    try {
      await link(fresh, path);
      return true;
    } catch (error) {
      const { code = "" } = error as NodeJS.ErrnoException;
      if (code === "EEXIST") return false;
      if (!NO_LINKS.has(code)) throw error;
    }
    try {
      await (await open(path, "wx", 0o600)).close();
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
      throw error;
    }
    await rename(fresh, path);
    return true;
  } finally {
    await rm(fresh, { force: true });
  }
}

import { randomBytes } from "node:crypto";
import { link, open, rename, rm, stat } from "node:fs/promises";
import { dirname } from "node:path";

/**
 * Creates a file with a new key-encryption key, for its owner alone, unless one exists. The file appears with its whole content or
 * not at all, also where the process is killed; of several writers at once the first one counts.
 */
export async function ensureKeyFile(path: string): Promise<void> {
  if (await isFile(path)) return;
  const made = `${path}.${randomBytes(6).toString("hex")}.tmp`;
  try {
    const file = await open(made, "wx", 0o600);
    try {
      await file.writeFile(`${randomBytes(32).toString("base64")}\n`);
      await file.sync();
    } catch (error) {
      // What the system says of a write does not name the file.
      const reason = error instanceof Error ? error.message : String(error);
      throw new Error(`The key file ${path} cannot be made: ${reason}`, { cause: error });
    } finally {
      await file.close();
    }
    await link(made, path).catch(async (error: NodeJS.ErrnoException) => {
      if (error.code === "EEXIST") return;
      // File systems without links: another writer at the same moment is the only risk.
      if (!(await isFile(path))) await rename(made, path);
    });
    await syncDirectory(dirname(path));
  } finally {
    await rm(made, { force: true });
  }
}

/** Replaces a key file by another one of the same directory, in one step. */
export async function replaceKeyFile(path: string, by: string): Promise<void> {
  await rename(by, path);
  await syncDirectory(dirname(path));
}

async function syncDirectory(path: string): Promise<void> {
  // Not every system opens directories; the entry is then as durable as the system makes it.
  const directory = await open(path, "r").catch(() => undefined);
  if (directory === undefined) return;
  try {
    await directory.sync().catch(() => undefined);
  } finally {
    await directory.close();
  }
}

async function isFile(path: string): Promise<boolean> {
  return stat(path).then(
    (found) => found.isFile(),
    () => false,
  );
}

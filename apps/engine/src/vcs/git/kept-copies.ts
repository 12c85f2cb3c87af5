import { readdir, rename, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { folderBytes } from "@stackwright/core/modules";

interface KeptCopiesOptions {
  /** Where the copies are: `ID.git`. */
  readonly directory: string;
  /** Bytes of all of them. */
  readonly maxBytes: number;
}

/** What is being removed has another name, so that nothing uses it. */
const REMOVED = ".removed";

/**
 * Removes the copies of repositories that were used longest ago, until the others have no more bytes than the limit. Those in
 * use stay. A copy that was removed is made again when it is needed.
 */
export async function trimCopies(
  { directory, maxBytes }: KeptCopiesOptions,
  isKept: (id: string) => boolean,
): Promise<void> {
  const names = await readdir(directory).catch(() => []);
  // Of a server that was killed while it removed them.
  for (const name of names.filter((one) => one.endsWith(REMOVED))) await remove(directory, name);
  const copies = await Promise.all(
    names
      .filter((name) => name.endsWith(".git"))
      .map(async (name) => {
        const path = join(directory, name);
        // Each fetch marks it.
        const usedAt = (await stat(join(path, "HEAD")).catch(() => undefined))?.mtimeMs ?? 0;
        return { name, usedAt, bytes: await folderBytes(path, maxBytes) };
      }),
  );
  let bytes = 0;
  for (const copy of copies.toSorted((a, b) => b.usedAt - a.usedAt)) {
    bytes += copy.bytes;
    if (bytes <= maxBytes || isKept(copy.name.slice(0, -".git".length))) continue;
    await rename(join(directory, copy.name), join(directory, `${copy.name}${REMOVED}`));
    await remove(directory, `${copy.name}${REMOVED}`);
    bytes -= copy.bytes;
  }
}

async function remove(directory: string, name: string): Promise<void> {
  await rm(join(directory, name), { recursive: true, force: true, maxRetries: 3 });
}

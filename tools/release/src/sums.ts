import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { readdir, writeFile } from "node:fs/promises";
import { join, relative } from "node:path";
import { pipeline } from "node:stream/promises";

/** The file with the sums of all others in its folder. */
export const SUMS = "SHA256SUMS";

/**
 * Writes the sums of all files in a folder, in the form that `sha256sum --check` reads.
 *
 * @returns how many files there are
 */
export async function writeSums(folder: string): Promise<number> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries
    .filter((entry) => entry.isFile())
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)))
    .filter((file) => file !== SUMS)
    .toSorted();
  const lines: string[] = [];
  for (const file of files) {
    const hash = createHash("sha256");
    await pipeline(createReadStream(join(folder, file)), hash);
    lines.push(`${hash.digest("hex")}  ${file}\n`);
  }
  await writeFile(join(folder, SUMS), lines.join(""));
  return files.length;
}

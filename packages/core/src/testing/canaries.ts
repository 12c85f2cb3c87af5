import { randomBytes } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { gunzipSync, zstdDecompressSync } from "node:zlib";

/** A secret that is found in no other bytes than those that repeat it. */
export function canary(name: string): string {
  return `canary-${name}-${randomBytes(12).toString("hex")}`;
}

/** The canaries that bytes hold, as they are or unpacked, each with the place and the form in which it was found. */
export function findCanaries(
  where: string,
  bytes: Uint8Array,
  canaries: readonly string[],
): readonly string[] {
  const found = [...look(where, bytes, canaries)];
  for (const unpack of [gunzipSync, zstdDecompressSync]) {
    try {
      found.push(...look(`${where}, unpacked`, unpack(bytes), canaries));
    } catch {
      // Packed in another way, or not at all.
    }
  }
  return found;
}

/** The same for all files below a folder, but for those that hold what the test itself wrote. */
export async function findCanariesInFolder(
  folder: string,
  canaries: readonly string[],
  isOwn: (path: string) => boolean = () => false,
): Promise<{ readonly files: number; readonly found: readonly string[] }> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const paths = entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((path) => !isOwn(path));
  const found = await Promise.all(
    paths.map(async (path) => findCanaries(path, await readFile(path), canaries)),
  );
  return { files: paths.length, found: found.flat() };
}

function look(where: string, bytes: Uint8Array, canaries: readonly string[]): readonly string[] {
  const text = Buffer.from(bytes).toString("latin1");
  return canaries.flatMap((name) =>
    formsOf(name)
      .filter((form) => text.includes(form))
      .map((form) => `${where}: ${name} as ${form}`),
  );
}

/** A text as it is, in hexadecimal, in UTF-16, and in base64 at each of the three places in its groups. */
function formsOf(text: string): readonly string[] {
  const shifted = [0, 1, 2].map((shift) => {
    const encoded = Buffer.from("x".repeat(shift) + text).toString("base64");
    // What also depends on the bytes before and behind is left out.
    return encoded.slice(shift === 0 ? 0 : 4, -4);
  });
  const hex = Buffer.from(text).toString("hex");
  return [
    text,
    hex,
    hex.toUpperCase(),
    Buffer.from(text, "utf16le").toString("latin1"),
    ...shifted,
  ];
}

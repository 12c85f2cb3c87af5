import { readdir, readFile } from "node:fs/promises";
import { extname, join } from "node:path";
import { promisify } from "node:util";
import { gzip } from "node:zlib";

/** One file of the console or the documentation, as it is sent. */
export interface SiteFile {
  readonly contentType: string;
  readonly content: Buffer;
  /** The content compressed, where that makes it smaller. */
  readonly gzip: Buffer | undefined;
  /** Its name has a digest of its content: it never changes. */
  readonly isImmutable: boolean;
}

const CONTENT_TYPES: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
  ".png": "image/png",
  ".json": "application/json; charset=utf-8",
};

/** All files of a folder, by their path in it. */
export async function readSite(folder: string): Promise<ReadonlyMap<string, SiteFile>> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile());
  return new Map(
    await Promise.all(
      files.map(async ({ parentPath, name }): Promise<[string, SiteFile]> => {
        const path = join(parentPath, name);
        const relative = path.slice(folder.length + 1).replaceAll("\\", "/");
        return [relative, await siteFile(relative, await readFile(path))];
      }),
    ),
  );
}

export async function siteFile(path: string, content: Buffer): Promise<SiteFile> {
  const packed = await promisify(gzip)(content, { level: 9 });
  return {
    contentType: CONTENT_TYPES[extname(path)] ?? "application/octet-stream",
    content,
    gzip: packed.length < content.length ? packed : undefined,
    isImmutable: path.startsWith("assets/"),
  };
}

import { execFile } from "node:child_process";
import { readdir, readFile } from "node:fs/promises";
import { extname, join } from "node:path";
import { promisify } from "node:util";
import { gzip } from "node:zlib";

/** One file of the console, as it is sent. */
export interface ConsoleFile {
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
};

/** Longer than a cold build takes on a busy machine. */
const BUILD_TIMEOUT_MS = 180_000;

/**
 * Reads the files of the console by their path, such as `index.html`. A published package has them; among the sources they are
 * built first, unless that was done for the same sources before.
 */
export async function readConsole(): Promise<ReadonlyMap<string, ConsoleFile>> {
  const isSource = extname(import.meta.url) === ".ts";
  const folder = isSource ? await buildFromSources() : join(import.meta.dirname, "site");
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile());
  return new Map(
    await Promise.all(
      files.map(async ({ parentPath, name }): Promise<[string, ConsoleFile]> => {
        const path = join(parentPath, name);
        const relative = path.slice(folder.length + 1).replaceAll("\\", "/");
        return [relative, await readConsoleFile(path, relative)];
      }),
    ),
  );
}

async function readConsoleFile(path: string, relative: string): Promise<ConsoleFile> {
  const content = await readFile(path);
  const packed = await promisify(gzip)(content, { level: 9 });
  return {
    contentType: CONTENT_TYPES[extname(path)] ?? "application/octet-stream",
    content,
    gzip: packed.length < content.length ? packed : undefined,
    isImmutable: relative.startsWith("assets/"),
  };
}

/** In a process of its own: the builder takes ten times the memory of the server. */
async function buildFromSources(): Promise<string> {
  const main = join(import.meta.dirname, "build", "main.ts");
  const { stdout } = await promisify(execFile)(process.execPath, [main], {
    timeout: BUILD_TIMEOUT_MS,
  });
  return stdout.trim();
}

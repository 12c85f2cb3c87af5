import { execFile } from "node:child_process";
import { extname, join } from "node:path";
import { promisify } from "node:util";
import { readSite, type SiteFile } from "./site-file.ts";

/** Longer than a cold build takes on a busy machine. */
const BUILD_TIMEOUT_MS = 180_000;

/**
 * Reads the files of the console by their path, such as `index.html`. A published package has them; among the sources they are
 * built first, unless that was done for the same sources before.
 */
export async function readConsole(): Promise<ReadonlyMap<string, SiteFile>> {
  const isSource = extname(import.meta.url) === ".ts";
  const folder = isSource ? await buildFromSources() : join(import.meta.dirname, "site");
  return readSite(folder);
}

/** In a process of its own: the builder takes ten times the memory of the server. */
async function buildFromSources(): Promise<string> {
  const main = join(import.meta.dirname, "build", "main.ts");
  const { stdout } = await promisify(execFile)(process.execPath, [main], {
    timeout: BUILD_TIMEOUT_MS,
  });
  return stdout.trim();
}

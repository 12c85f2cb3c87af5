import { execFile } from "node:child_process";
import { extname, join } from "node:path";
import { promisify } from "node:util";
import { readSite, type SiteFile, siteFile } from "./site-file.ts";

const BUILD_TIMEOUT_MS = 60_000;
/** The pages with their images are a tenth of it. */
const MAX_BYTES = 64 * 2 ** 20;

/**
 * Reads the files of the documentation by their path below `/help/`, such as `index.html`. A published package has them; among the
 * sources they are made of the pages of the repository, in a process of its own.
 */
export async function readHelp(): Promise<ReadonlyMap<string, SiteFile>> {
  if (extname(import.meta.url) !== ".ts") return readSite(join(import.meta.dirname, "help"));
  const main = join(import.meta.dirname, "help", "main.ts");
  const { stdout } = await promisify(execFile)(process.execPath, [main], {
    timeout: BUILD_TIMEOUT_MS,
    maxBuffer: MAX_BYTES,
  });
  const members = Object.entries(JSON.parse(stdout) as Record<string, string>);
  return new Map(
    await Promise.all(
      members.map(
        async ([path, content]): Promise<[string, SiteFile]> => [
          path,
          await siteFile(path, Buffer.from(content, "base64")),
        ],
      ),
    ),
  );
}

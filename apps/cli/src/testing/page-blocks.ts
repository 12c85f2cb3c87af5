import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import type { PageFolder } from "./page-folder.ts";
import { spawnCommand } from "./spawned-command.ts";

const ROOT = join(import.meta.dirname, "../../../..");

/** The address of the server on the pages of the documentation. */
const WRITTEN_ADDRESS = "http://127.0.0.1:7400";

/**
 * The blocks of code of a page, in the order in which a reader finds them.
 *
 * @param page Path of the page from the root of the repository.
 * @param language What stands behind the fence, such as `sh`.
 */
export async function pageBlocks(page: string, language: string): Promise<string[]> {
  const text = await readFile(join(ROOT, page), "utf8");
  const blocks = text.matchAll(new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\`$`, "gms"));
  return [...blocks].map(([, content = ""]) => content);
}

/**
 * Starts the server that a block of a page starts, at any port; the end of the test stops it.
 *
 * @param serve The block, one line that begins with `stackwright serve`.
 * @param page The folder of the reader.
 * @param further What a trial on one machine needs that the page does not, such as a certificate.
 * @returns The address of the server, and what replaces the address on the page by it.
 */
export async function startPageServer(
  serve: string,
  page: Pick<PageFolder, "folder" | "env">,
  further: readonly string[] = [],
): Promise<{
  readonly url: string;
  readonly here: (block: string) => string;
  /** Ends it before the end of the test. */
  readonly stop: () => Promise<unknown>;
}> {
  const [program, ...words] = serve.trim().split(" ");
  if (program !== "stackwright" || words[0] !== "serve") {
    throw new Error(`the block starts no server: ${serve}`);
  }
  const server = spawnCommand([...words, ...further, "--port", "0"], {
    cwd: page.folder,
    env: page.env,
  });
  onTestFinished(() => server[Symbol.asyncDispose]());
  const [, url = ""] = await server.waitFor(/The server is at (https?:\S+)/);
  const here = (block: string): string => block.replaceAll(WRITTEN_ADDRESS, url);
  return { url, here, stop: async () => server.stop() };
}

import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join, relative, sep } from "node:path";
import type { GoToolchain } from "./go-toolchain.ts";
import type { Tool } from "./tool.ts";

/** Rises when the way of building changes, so that older results are not used. */
const RECIPE = 1;

/** What `go build` reads: the module files, Go sources and all embedded files. */
const IGNORED = [/^README\.md$/, /^tool\.json$/, /_test\.go$/];

/**
 * Names the result of building `tool` with `go`: equal keys are equal programs. It covers the module's files with
 * names, the toolchain, the platform and all parts of the command line, and leaves out description, priority and
 * deadline, which do not reach the program.
 */
export function toolKey(tool: Tool, go: Pick<GoToolchain, "version" | "platform">): string {
  const hash = createHash("sha256");
  // Each part is preceded by its length, so that no two lists of parts look alike.
  const add = (part: string | Buffer) => {
    const bytes = Buffer.from(part);
    hash.update(`${bytes.length}:`).update(bytes);
  };
  add(`recipe ${RECIPE}`);
  for (const part of [go.version, go.platform, tool.package, tool.binary, tool.ldflags]) add(part);
  for (const file of sourceFiles(tool.folder)) {
    add(file);
    add(readFileSync(join(tool.folder, file)));
  }
  return hash.digest("hex").slice(0, 24);
}

function sourceFiles(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && !IGNORED.some((pattern) => pattern.test(entry.name)))
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)).split(sep).join("/"))
    .toSorted();
}

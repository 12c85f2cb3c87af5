import { execFile } from "node:child_process";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { promisify } from "node:util";
import { onTestFinished } from "vitest";

const COMMAND = join(import.meta.dirname, "../../bin/stackwright.mjs");

/** Where the commands of a page of the documentation are executed as they are written. */
export interface PageFolder {
  readonly folder: string;
  /** The variables of its commands. */
  readonly env: NodeJS.ProcessEnv;
  /** Executes a script of the shell, which ends with its first command that fails; resolves with its standard output. */
  readonly shell: (script: string, directory?: string) => Promise<string>;
}

/**
 * An empty folder, which is the home of what runs in it too, and where `stackwright` is the command of the workspace. The end of the test removes it.
 *
 * @param env More variables of the commands.
 */
export async function createPageFolder(
  env: Readonly<Record<string, string>> = {},
): Promise<PageFolder> {
  const folder = await mkdtemp(join(tmpdir(), "page-"));
  // A server that was stopped has children that still write the code that they compiled.
  onTestFinished(() => rm(folder, { recursive: true, force: true, maxRetries: 20 }));
  const bin = join(folder, "bin");
  await mkdir(bin);
  const program = `#!/bin/sh\nexec '${process.execPath}' '${COMMAND}' "$@"\n`;
  await writeFile(join(bin, "stackwright"), program, { mode: 0o755 });
  const paths = [bin, dirname(process.execPath), process.env["PATH"] ?? ""];
  // A new home has nothing compiled yet, which is most of a start.
  const { NODE_COMPILE_CACHE } = process.env;
  const own = { HOME: folder, PATH: paths.join(delimiter), NODE_COMPILE_CACHE, ...env };
  return {
    folder,
    env: own,
    shell: async (script, cwd = folder) =>
      (await promisify(execFile)("sh", ["-ec", script], { cwd, env: own })).stdout,
  };
}

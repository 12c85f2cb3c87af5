import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import type { StateBackend } from "@stackwright/tfstate/backend";
import type { CommandContext } from "../command-context.ts";
import { CommandError } from "../command-error.ts";
import { shellWord } from "../session/plan-file.ts";
import { printable } from "../terminal/printable.ts";

/** A state that was fetched before: a file, or standard input for `-`. It has one workspace and no lock. */
export async function givenState(
  file: string,
  workspace: string,
  { directory, terminal }: CommandContext,
): Promise<StateBackend> {
  const bytes =
    file === "-"
      ? Buffer.from(await terminal.readAll())
      : await readFile(resolve(directory, file)).catch((error: unknown) => {
          const isFolder = (error as NodeJS.ErrnoException).code === "EISDIR";
          const folder = shellWord(file);
          throw new CommandError(
            isFolder
              ? `"${printable(file)}" is a folder. Adopt its root module with "stackwright --chdir ${folder} adopt", or all below it with "stackwright adopt --all ${folder}".`
              : `The state file "${file}" is not readable.`,
            { cause: error },
          );
        });
  if (bytes.length === 0) throw new CommandError(`The state "${file}" is empty.`);
  const place = file === "-" ? "standard input" : `file ${file}`;
  return {
    type: "file",
    place: () => place,
    workspaces: async () => [workspace],
    read: async () => bytes,
    write: async () => {
      throw new CommandError("A state that was given as a file is not written.");
    },
    lock: async (_workspace, record) => ({
      id: record.ID,
      outlivesProcess: false,
      release: async () => undefined,
    }),
    [Symbol.asyncDispose]: async () => undefined,
  };
}

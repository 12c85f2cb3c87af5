import { constants } from "node:fs";
import { access, stat } from "node:fs/promises";
import { delimiter, isAbsolute, resolve } from "node:path";
import { MuxError } from "../errors.ts";

/**
 * The file that a command stands for: a path as it is, a bare name by `PATH` of the environment that the process
 * gets. `MUX_PROCESS_NOT_FOUND` where nothing executable is found, so that it is known before anything is started.
 */
export async function findExecutable(
  command: string,
  { cwd, env }: { readonly cwd: string; readonly env: NodeJS.ProcessEnv },
): Promise<string> {
  const isPath = command.includes("/");
  const candidates = isPath
    ? [isAbsolute(command) ? command : resolve(cwd, command)]
    : (env.PATH ?? "").split(delimiter).map((folder) => resolve(cwd, folder, command));
  let found: string | undefined;
  for (const candidate of candidates) {
    try {
      if (!(await stat(candidate)).isFile()) continue;
      found ??= candidate;
      await access(candidate, constants.X_OK);
      return candidate;
    } catch {
      // Not there, or not for us: the next folder may have one.
    }
  }
  throw new MuxError(
    "MUX_PROCESS_NOT_FOUND",
    found === undefined
      ? `there is no program ${command}${isPath ? "" : " in PATH"}`
      : `${found} is not executable`,
  );
}

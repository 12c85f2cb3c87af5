import { execFile } from "node:child_process";
import { accessSync, constants, realpathSync, statSync } from "node:fs";
import { delimiter, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { commandEnvironment } from "@stackwright/tfstate/backend";
import type { CommandContext } from "../command-context.ts";
import { CommandError } from "../command-error.ts";

const PROBE_TIMEOUT_MS = 30_000;

/**
 * The path of an installed reference command. A program that is this one, by a link or a wrapper under the name of the other,
 * is passed over: it would call itself. `CommandError` where no other is there.
 *
 * @param command a name, looked for in `PATH`, or a path
 */
export async function referenceCommand(
  command: string,
  context: Pick<CommandContext, "directory" | "env" | "signal">,
): Promise<string> {
  const isPath = command.includes("/");
  const candidates = isPath ? [resolve(context.directory, command)] : installed(command, context);
  const own: string[] = [];
  for (const candidate of candidates) {
    // A path that does not lead to a program fails when it is called.
    if (!(await isThisCommand(candidate, context))) return candidate;
    own.push(candidate);
  }
  if (own.length === 0) {
    throw new CommandError(`There is no program "${command}" in PATH.`, {
      advice: "Install it, or name another command or a path.",
    });
  }
  throw new CommandError(
    `The command "${command}" is needed, and ${own.map((path) => `"${path}"`).join(", ")} ${own.length === 1 ? "is" : "are"} Stackwright under that name.`,
    { advice: "Name the path of the real command, or install it in a folder of PATH." },
  );
}

function installed(command: string, { directory, env }: Pick<CommandContext, "directory" | "env">) {
  return (env["PATH"] ?? "").split(delimiter).flatMap((folder) => {
    const path = join(resolve(directory, folder), command);
    try {
      accessSync(path, constants.X_OK);
      return statSync(path).isFile() ? [path] : [];
    } catch {
      return [];
    }
  });
}

const LAUNCHERS = ["stackwright", "stackwright.cjs", "stackwright.mjs"].map((name) =>
  fileURLToPath(new URL(`../../bin/${name}`, import.meta.url)),
);

async function isThisCommand(
  path: string,
  { env, directory: cwd, signal }: Pick<CommandContext, "directory" | "env" | "signal">,
): Promise<boolean> {
  try {
    if (LAUNCHERS.includes(realpathSync(path))) return true;
  } catch {
    return false;
  }
  // A wrapper shows by its answer what it calls.
  const probe = { ...commandEnvironment(env), CHECKPOINT_DISABLE: "1" };
  const options = { cwd, env: probe, signal, timeout: PROBE_TIMEOUT_MS };
  const text = await new Promise<string>((done, failed) => {
    execFile(path, ["version", "-json"], options, (_error, stdout) => {
      if (signal.aborted) failed(signal.reason as Error);
      else done(stdout);
    });
  });
  try {
    return "stackwright_version" in (JSON.parse(text) as object);
  } catch {
    return false;
  }
}

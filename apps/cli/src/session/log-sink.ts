import { appendFileSync } from "node:fs";
import { resolve } from "node:path";
import type { CommandContext } from "../command-context.ts";
import { CommandError } from "../command-error.ts";

/** One line of a log. */
interface LogLine {
  readonly module: string;
  readonly level: "debug" | "info" | "warning" | "error";
  readonly message: string;
  /** The line as text. */
  readonly text: string;
}

/**
 * Writes log lines to standard error, or to the end of the file of `TF_LOG_PATH`. Lines are objects where `TF_LOG` is `JSON`,
 * in the form that Terraform's have.
 */
export function logSink({
  terminal,
  env,
  directory,
}: Pick<CommandContext, "terminal" | "env" | "directory">): (line: LogLine) => void {
  const path = env["TF_LOG_PATH"] ?? "";
  const isJson = (env["TF_LOG"] ?? "").toUpperCase() === "JSON";
  return ({ module, level, message, text }) => {
    const written = isJson
      ? JSON.stringify({
          "@level": level === "warning" ? "warn" : level,
          "@message": message,
          "@module": module,
          "@timestamp": new Date().toISOString(),
        })
      : text;
    if (path === "") terminal.writeError(`${written}\n`);
    else append(resolve(directory, path), `${written}\n`);
  };
}

function append(path: string, text: string): void {
  try {
    appendFileSync(path, text, { mode: 0o600 });
  } catch (error) {
    throw new CommandError(`The log file "${path}" of TF_LOG_PATH is not writable.`, {
      cause: error,
    });
  }
}

import { existsSync, readFileSync } from "node:fs";

const CODES = {
  SERVER_NOT_INSTALLED: "there is no such server on this machine",
  SERVER_START_FAILED: "the server did not come up",
  SERVER_START_TIMEOUT: "the server was not ready in time",
} as const;

export type ServerErrorCode = keyof typeof CODES;

/** A test server could not be had. The message ends with what the server itself printed. */
export class ServerError extends Error {
  override readonly name = "ServerError";
  readonly code: ServerErrorCode;

  constructor(code: ServerErrorCode, detail: string, options?: ErrorOptions) {
    super(`${CODES[code]}: ${detail}`, options);
    this.code = code;
  }
}

/** The last lines of a log, indented, to stand below an error's first line. */
export function logTail(file: string, lines = 30): string {
  if (!existsSync(file)) return "";
  const text = readFileSync(file, "utf8").trimEnd();
  if (text === "") return "\n  (the log is empty)";
  const tail = text.split("\n").slice(-lines);
  return `\n${tail.map((line) => `  ${line}`).join("\n")}`;
}

import type { Logger } from "@stackwright/base/logger";
import type { Terminal } from "../terminal/terminal.ts";

/** Shows what functions write, line by line, with the name of the function before it, and how they fail. */
export function functionLogger(terminal: Terminal): Logger {
  const show = (data: object): void => {
    const { urn = "", text = "" } = data as { readonly urn?: string; readonly text?: string };
    for (const line of text.split("\n")) {
      if (line.trim() !== "") terminal.writeError(`${functionName(urn)}: ${line}\n`);
    }
  };
  return {
    debug: () => undefined,
    info: show,
    warn: show,
    error: (data: object, message: string) => {
      const { error } = data as { readonly error?: unknown };
      const reason = error instanceof Error ? error.message : String(error);
      terminal.writeError(`${message}: ${reason}\n`);
    },
  };
}

/** Name and version of a function, as shown to users. */
export function functionName(urn: string): string {
  return urn.split(":").slice(-2).join(":");
}

import type { ProviderLog } from "@stackwright/core";
import type { CommandContext } from "../command-context.ts";

/**
 * Writes what providers log to standard error, one line per line of theirs, with the name of the provider. Debug entries, and what a
 * process writes by itself, only with `STACKWRIGHT_DEBUG`.
 */
export function providerLogs({
  terminal,
  env,
}: Pick<CommandContext, "terminal" | "env">): (entry: ProviderLog) => void {
  const withDebug = env.STACKWRIGHT_DEBUG !== undefined;
  return ({ provider, severity, message }) => {
    if (severity === "debug" && !withDebug) return;
    const label = severity === "info" ? provider : `${provider}: ${severity}`;
    for (const line of message.trimEnd().split(/\r?\n/)) {
      terminal.writeError(`${label}: ${printable(line)}\n`);
    }
  };
}

/** A provider may write anything: what moves the cursor or changes colors becomes visible instead. */
function printable(text: string): string {
  return text.replaceAll(/\p{Cc}/gu, (found) =>
    found === "\t" ? found : `\\u${found.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

import type { ProviderLog } from "@stackwright/core";
import type { CommandContext } from "../command-context.ts";
import { printable } from "../terminal/printable.ts";
import { logSink } from "./log-sink.ts";

type Severity = ProviderLog["severity"];

const RANKS: Readonly<Record<Severity, number>> = { debug: 0, info: 1, warning: 2, error: 3 };

/** Levels of `TF_LOG`, in any case. `JSON` is a format of the reference's log, with all levels. */
const LEVELS: Readonly<Record<string, Severity | "off" | undefined>> = {
  TRACE: "debug",
  JSON: "debug",
  DEBUG: "debug",
  INFO: "info",
  WARN: "warning",
  ERROR: "error",
  OFF: "off",
};

/**
 * Writes what providers log to standard error, one line per line of theirs, with the name of the provider. `STACKWRIGHT_DEBUG`
 * shows everything, `TF_LOG_PROVIDER` and `TF_LOG` the entries of their level and above, for providers of all protocols alike.
 *
 * @param unset the least severity that is shown where none of them is set; none for providers that log to developers alone
 */
export function providerLogs(
  context: Pick<CommandContext, "terminal" | "env" | "directory">,
  unset: Severity | "off",
): (entry: ProviderLog) => void {
  const { env } = context;
  const sink = logSink(context);
  const least =
    env.STACKWRIGHT_DEBUG === undefined
      ? (levelOf(env.TF_LOG_PROVIDER || env.TF_LOG) ?? unset)
      : "debug";
  return ({ provider, severity, message }) => {
    if (least === "off" || RANKS[severity] < RANKS[least]) return;
    const label = severity === "info" ? provider : `${provider}: ${severity}`;
    for (const line of message.trimEnd().split(/\r?\n/)) {
      const message = printable(line);
      sink({
        module: `provider.${provider}`,
        level: severity,
        message,
        text: `${label}: ${message}`,
      });
    }
  };
}

/**
 * Writes what the command does itself, which is its name, exit code and duration and never an argument: `TF_LOG_CORE` and
 * `TF_LOG` show it from the level `INFO` on.
 */
export function commandLog(
  context: Pick<CommandContext, "terminal" | "env" | "directory">,
): (message: string) => void {
  const { TF_LOG_CORE: core, TF_LOG: all } = context.env;
  const least = levelOf(core || all);
  if (least === undefined || least === "off" || RANKS.info < RANKS[least]) return () => undefined;
  const sink = logSink(context);
  return (message) => {
    sink({ module: "stackwright", level: "info", message, text: `stackwright: ${message}` });
  };
}

/** A level that the reference does not know means all of them, as there. */
function levelOf(given: string | undefined): Severity | "off" | undefined {
  const text = given || undefined;
  return text === undefined ? undefined : (LEVELS[text.toUpperCase()] ?? "debug");
}

import type { Logger } from "@stackwright/base/logger";
import type { ProcessLine } from "@stackwright/mux/host";
import type { ProviderLogEntry } from "@stackwright/tfplugin/launch";
import type { PartialSecretMatch, Redactor } from "./redactor.ts";

// What a provider writes comes line by line, and lines that are too long in pieces: a secret may go over several of them.

/** Takes secrets out of the log of one provider of the Terraform plugin protocol. */
export function redactLog(secrets: Redactor): (entry: ProviderLogEntry) => ProviderLogEntry {
  const redactLine = redactLines(secrets);
  return (entry) => {
    if (secrets.isEmpty) return entry;
    const { level, message, ...rest } = entry;
    // A structured entry is whole.
    const isPlain = Object.keys(rest.fields).length === 0 && rest.timestamp === undefined;
    return {
      ...secrets.redactData(rest),
      level,
      message: isPlain ? redactLine(message) : secrets.redact(message),
    };
  };
}

/** Takes secrets out of the lines of one process, each of whose streams is a text of its own. */
export function redactProcess(secrets: Redactor): (line: ProcessLine) => ProcessLine {
  const redact = { stdout: redactLines(secrets), stderr: redactLines(secrets) };
  return ({ stream, text }) => ({ stream, text: redact[stream](text) });
}

/** What hosting says to a log itself: how processes and connections ended, with errors in the words of providers. */
export function redactLogger(secrets: Redactor, logger: Logger): Logger {
  const clean =
    (level: keyof Logger): Logger[keyof Logger] =>
    (data, message) =>
      logger[level](secrets.redactData(data), secrets.redact(message));
  return {
    debug: clean("debug"),
    info: clean("info"),
    warn: clean("warn"),
    error: clean("error"),
  };
}

function redactLines(secrets: Redactor): (line: string) => string {
  let before: PartialSecretMatch = [];
  return (line) => {
    const { text, unfinished } = secrets.redactPiece(line, before);
    before = unfinished;
    return text;
  };
}

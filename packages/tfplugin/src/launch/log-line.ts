/** One entry of a provider's log. */
export interface ProviderLogEntry {
  readonly level: "trace" | "debug" | "info" | "warn" | "error";
  readonly message: string;
  /** Part of the provider that wrote it, for entries that say so. */
  readonly module?: string;
  /** When, as the provider wrote it. */
  readonly timestamp?: string;
  /** Further members of a structured entry. */
  readonly fields: Readonly<Record<string, unknown>>;
}

const LEVELS: ReadonlyMap<unknown, ProviderLogEntry["level"]> = new Map([
  ["trace", "trace"],
  ["debug", "debug"],
  ["info", "info"],
  ["warn", "warn"],
  ["warning", "warn"],
  ["error", "error"],
]);

/**
 * Reads one line of a provider's standard error. A JSON object with `@level` and `@message` is a structured entry; the
 * line of a Go program that panics is an error; other lines have the level that they begin with in brackets, or
 * `debug`. Never throws.
 *
 * Source: HashiCorp's go-plugin and hclog.
 */
export function parseLogLine(line: string): ProviderLogEntry {
  return parseStructured(line) ?? parsePlain(line);
}

function parseStructured(line: string): ProviderLogEntry | undefined {
  if (!line.startsWith("{")) return undefined;
  let parsed: unknown;
  try {
    parsed = JSON.parse(line);
  } catch {
    return undefined;
  }
  if (typeof parsed !== "object" || parsed === null) return undefined;
  const {
    "@level": level,
    "@message": message,
    "@module": module,
    "@timestamp": timestamp,
    ...fields
  } = parsed as Record<string, unknown>;
  if (typeof message !== "string") return undefined;
  return {
    level: LEVELS.get(level) ?? "debug",
    message,
    ...(typeof module === "string" && { module }),
    ...(typeof timestamp === "string" && { timestamp }),
    fields,
  };
}

function parsePlain(line: string): ProviderLogEntry {
  const isPanic = /^(?:panic|fatal error): /.test(line);
  const name = /^(?:\d{4}\S* (?:\d\S* )?)?\[(?<name>[A-Z]+)\]/.exec(line)?.groups?.name;
  const level = isPanic ? "error" : (LEVELS.get(name?.toLowerCase()) ?? "debug");
  return { level, message: line, fields: {} };
}

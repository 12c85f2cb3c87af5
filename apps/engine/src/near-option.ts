import { suggestName } from "@stackwright/lang";

/**
 * The option that a name which is none most likely means; undefined where no option is near. What other programs switch off with `no-x` may
 * have the name `without-x` here.
 *
 * @param given without dashes before it, as are the names of the options that there are
 */
export function nearOptionName(given: string, names: readonly string[]): string | undefined {
  const without = given.replace(/^no-/, "without-");
  return names.includes(without)
    ? without
    : (suggestName(given, names) ?? suggestName(without, names));
}

/**
 * `Did you mean "--without-console"?` for the message of a parser of arguments that does not know an option; undefined for other messages,
 * and where no option is near.
 *
 * @param names of the options that there are, without dashes
 */
export function nearOption(message: string, names: readonly string[]): string | undefined {
  const [, dashes = "", given] = /unknown option '(--?)([a-z][a-z0-9-]*)/i.exec(message) ?? [];
  const near = given === undefined ? undefined : nearOptionName(given, names);
  return near === undefined ? undefined : `Did you mean "${dashes}${near}"?`;
}

import { suggestName } from "@stackwright/lang";

/**
 * `Did you mean "--without-console"?` for the message of a parser of arguments that does not know an option; undefined for other messages,
 * and where no option is near. What other programs switch off with `--no-x` may have the name `--without-x` here.
 *
 * @param names of the options that there are, without dashes
 */
export function nearOption(message: string, names: readonly string[]): string | undefined {
  const [, dashes = "", given] = /unknown option '(--?)([a-z][a-z0-9-]*)/i.exec(message) ?? [];
  if (given === undefined) return undefined;
  const without = given.replace(/^no-/, "without-");
  const near = names.includes(without)
    ? without
    : (suggestName(given, names) ?? suggestName(without, names));
  return near === undefined ? undefined : `Did you mean "${dashes}${near}"?`;
}

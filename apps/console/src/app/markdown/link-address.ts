const SCHEMES: ReadonlySet<string> = new Set(["https:", "http:", "mailto:"]);

/**
 * The address of a link as it may be opened: absolute, and of a scheme that runs nothing. Undefined for all others, also for addresses
 * that are relative: of what they are beside, the console has nothing.
 */
export function linkAddress(href: string): string | undefined {
  const given = href.trim();
  // A browser drops some of these before it reads the scheme.
  if (/[\p{Cc}\s]/u.test(given) || !URL.canParse(given)) return undefined;
  const url = new URL(given);
  if (!SCHEMES.has(url.protocol)) return undefined;
  // Names before the host say where a link does not lead.
  if (url.username !== "" || url.password !== "") return undefined;
  return url.href;
}

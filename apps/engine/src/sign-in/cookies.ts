/** What cookies of the server are called, and where they go. */
interface CookieNames {
  readonly session: string;
  readonly flow: string;
  /** Whether browsers send them over TLS alone. */
  readonly isSecure: boolean;
}

/** Over TLS with the prefix that keeps other hosts and unencrypted pages from setting them. */
export function cookieNames(origin: string): CookieNames {
  const isSecure = origin.startsWith("https:");
  const prefix = isSecure ? "__Host-" : "";
  return { session: `${prefix}stackwright`, flow: `${prefix}stackwright-sign-in`, isSecure };
}

/** The value of a cookie; undefined where there is none, or several of the name. */
export function cookieOf(header: string | undefined, name: string): string | undefined {
  const values = (header ?? "")
    .split(";")
    .map((part) => part.trim())
    .filter((part) => part.startsWith(`${name}=`));
  return values.length === 1 ? values[0]?.slice(name.length + 1) : undefined;
}

/** A header that sets a cookie which no script reads, or that removes it. */
export function setCookie(
  { isSecure }: CookieNames,
  name: string,
  value: string,
  seconds: number,
): string {
  return [
    `${name}=${value}`,
    "Path=/",
    "HttpOnly",
    "SameSite=Lax",
    `Max-Age=${seconds}`,
    ...(isSecure ? ["Secure"] : []),
  ].join("; ");
}

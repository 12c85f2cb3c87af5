import { isLoopback } from "../listening-rules.ts";

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

/**
 * The secret of the login session of a browser. A server in the clear has the browsers of its own machine alone: a request with another name in
 * `Host` is of a page that had its own name resolved to this machine, and has no session.
 */
export function sessionSecretOf(
  headers: { readonly cookie?: string | undefined; readonly host?: string | undefined },
  origin: string,
): string | undefined {
  const { session, isSecure } = cookieNames(origin);
  if (!isSecure && !isLoopback(hostnameOf(headers.host))) return undefined;
  return cookieOf(headers.cookie, session);
}

/** The name in a `Host` header without its port; empty where there is none. */
function hostnameOf(host: string | undefined): string {
  return URL.parse(`http://${host ?? ""}`)?.hostname ?? "";
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

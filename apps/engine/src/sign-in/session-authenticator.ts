import { type Authenticator, RegistryError } from "@stackwright/registry";
import type { LoginSessions } from "../access/login-sessions.ts";
import { sessionSecretOf } from "./cookies.ts";
import { isOfOwnPage } from "./own-page.ts";

interface SessionAuthenticatorParts {
  /** Recognises tokens and signatures. */
  readonly credentials: Authenticator;
  readonly sessions: LoginSessions;
  /** The address of the server as browsers see it, such as `https://stackwright.example.com`. */
  readonly origin: () => string;
}

/** What pages send with their changes. */
export const PAGE_TOKEN = "x-stackwright-csrf";
const READS: ReadonlySet<string> = new Set(["GET", "HEAD"]);
/** The APIs that the console calls. */
const SCOPES = ["/api/v1/", "/v1/private-providers"];

/**
 * Takes the cookie of a login session for requests to the APIs of the console that have no token. A browser sends it by itself, so that a page of another
 * site could use it: changes need an origin that is this server, and what only its pages know. A request with a token never reads the cookie.
 */
export function createSessionAuthenticator(parts: SessionAuthenticatorParts): Authenticator {
  const { credentials, sessions } = parts;
  return {
    async authenticate(request) {
      // All values of a header that comes several times: none of them counts alone.
      const header = (name: string, separator = ", "): string | undefined => {
        const values = request.headers.filter(([key]) => key.toLowerCase() === name);
        return values.length === 0 ? undefined : values.map(([, value]) => value).join(separator);
      };
      const hasToken =
        header("authorization") !== undefined || header("x-auth-token") !== undefined;
      const origin = parts.origin();
      const sent = { cookie: header("cookie", "; "), host: header("host") };
      const secret = sessionSecretOf(sent, origin);
      const isOfConsole = SCOPES.some((scope) => request.target.startsWith(scope));
      if (hasToken || secret === undefined || !isOfConsole) {
        return credentials.authenticate(request);
      }
      // A page that is open listens, also without a user before it: that does not keep the session from its end.
      const listens = header("accept")?.includes("text/event-stream") === true;
      const principal = await sessions.principalOf(secret, !listens);
      if (principal === undefined) {
        throw new RegistryError("REGISTRY_UNAUTHENTICATED", "authentication failed", {
          cause: new Error("the login session is over"),
        });
      }
      const site = header("sec-fetch-site");
      const isFollowed = site === undefined || site === "same-origin" || site === "none";
      const isAllowed = READS.has(request.method)
        ? isFollowed
        : isOfOwnPage(header, origin) && (await sessions.isPageToken(secret, header(PAGE_TOKEN)));
      if (isAllowed) return principal;
      throw new RegistryError(
        "REGISTRY_FORBIDDEN",
        "the request does not come from a page of this server",
      );
    },
  };
}

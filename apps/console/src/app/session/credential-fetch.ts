import type { SessionCredential } from "./session.ts";

/** The `fetch` of a session: with a token no cookie is sent; with a login session the cookie, and the proof that changes need. */
export function credentialFetch(credential: SessionCredential): typeof fetch {
  return async (input, init) => {
    const headers = new Headers(init?.headers);
    if (credential.kind === "login") headers.set("x-stackwright-csrf", credential.csrf);
    return fetch(input, {
      ...init,
      headers,
      credentials: credential.kind === "login" ? "same-origin" : "omit",
      cache: "no-store",
    });
  };
}

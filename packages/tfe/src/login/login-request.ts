/** Ports of this machine on which commands wait for the answer: from the first to the one below the last. */
export const LOGIN_PORTS = Object.freeze([10_000, 10_010] as const);
export const LOGIN_CLIENT = "terraform-cli";

/** What a command asks for. */
export interface LoginRequest {
  readonly redirectUri: string;
  readonly state: string;
  /** SHA-256 of the verifier, in base64url. */
  readonly challenge: string;
}

const REDIRECT = /^http:\/\/(?:localhost|127\.0\.0\.1):([0-9]{4,5})\/login$/;

/** Reads the parameters of an authorization; undefined for others than those of a command on the machine of the browser. */
export function readLoginRequest(given: URLSearchParams): LoginRequest | undefined {
  const redirectUri = given.get("redirect_uri") ?? "";
  const state = given.get("state") ?? "";
  const challenge = given.get("code_challenge") ?? "";
  const [, port = ""] = REDIRECT.exec(redirectUri) ?? [];
  const [first, last] = LOGIN_PORTS;
  const isValid =
    given.get("client_id") === LOGIN_CLIENT &&
    given.get("response_type") === "code" &&
    given.get("code_challenge_method") === "S256" &&
    /^[\w-]{43}$/.test(challenge) &&
    /^[\x21-\x7e]{1,128}$/.test(state) &&
    Number(port) >= first &&
    Number(port) < last;
  return isValid ? { redirectUri, state, challenge } : undefined;
}

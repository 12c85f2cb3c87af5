import * as client from "openid-client";
import { isLocalIssuer, type SignInProvider } from "./sign-in-file.ts";

/** What a sign-in remembers between leaving for an identity provider and coming back. */
export interface PendingChecks {
  readonly state: string;
  readonly nonce: string;
  readonly verifier: string;
}

/** Who an identity provider says a user is. */
export interface Identity {
  readonly issuer: string;
  readonly subject: string;
  readonly name: string;
  readonly displayName: string;
  readonly email: string;
  /** The provider is trusted to verify addresses, and has verified this one. */
  readonly emailVerified: boolean;
  readonly groups: readonly string[];
}

const TIMEOUT_SECONDS = 15;
const MAX_GROUPS = 200;
/** How long the endpoints of a provider are taken for what they were. */
const KNOWN_MS = 3_600_000;

/** Signs users in with one identity provider: authorization code with PKCE, state and nonce. */
export class IdentityProvider {
  readonly #provider: SignInProvider;
  readonly #nowMs: () => number;
  #known: { readonly config: Promise<client.Configuration>; readonly untilMs: number } | undefined;

  constructor(provider: SignInProvider, nowMs: () => number) {
    this.#provider = provider;
    this.#nowMs = nowMs;
  }

  get name(): string {
    return this.#provider.name;
  }

  get account(): string {
    return this.#provider.account;
  }

  /** Where the browser goes, and what has to come back. */
  async begin(redirect: string): Promise<{ readonly url: URL; readonly checks: PendingChecks }> {
    const config = await this.#configuration();
    const checks = {
      state: client.randomState(),
      nonce: client.randomNonce(),
      verifier: client.randomPKCECodeVerifier(),
    };
    const url = client.buildAuthorizationUrl(config, {
      redirect_uri: redirect,
      scope: this.#provider.scopes.join(" "),
      state: checks.state,
      nonce: checks.nonce,
      code_challenge: await client.calculatePKCECodeChallenge(checks.verifier),
      code_challenge_method: "S256",
    });
    return { url, checks };
  }

  /** The identity that a browser came back with; rejects for anything that is not the answer to what was begun. */
  async finish(returned: URL, { state, nonce, verifier }: PendingChecks): Promise<Identity> {
    const config = await this.#configuration();
    const tokens = await client.authorizationCodeGrant(config, returned, {
      expectedState: state,
      expectedNonce: nonce,
      pkceCodeVerifier: verifier,
      idTokenExpected: true,
    });
    const idToken = tokens.claims();
    if (idToken === undefined) throw new Error("the provider gave no ID token");
    const asked = config.serverMetadata().userinfo_endpoint !== undefined;
    const more = asked
      ? await client.fetchUserInfo(config, tokens.access_token, idToken.sub)
      : undefined;
    const claims: Readonly<Record<string, unknown>> = { ...more, ...idToken };
    const groups = claims[this.#provider.groupsClaim];
    return {
      issuer: idToken.iss,
      subject: idToken.sub,
      name: textOf(claims["preferred_username"]) || textOf(claims["email"]) || idToken.sub,
      displayName: textOf(claims["name"]),
      email: textOf(claims["email"]),
      // As text, some providers send what users say of themselves.
      emailVerified: this.#provider.linksVerifiedEmail && claims["email_verified"] === true,
      groups: (Array.isArray(groups) ? groups : [])
        .filter((group): group is string => typeof group === "string" && group.length <= 256)
        .slice(0, MAX_GROUPS),
    };
  }

  async #configuration(): Promise<client.Configuration> {
    const { issuer, clientId, clientSecret } = this.#provider;
    if (this.#known !== undefined && this.#known.untilMs > this.#nowMs()) return this.#known.config;
    const execute = [
      // Who the user is stands on the signature of the provider, not on the connection alone.
      client.enableNonRepudiationChecks,
      ...(issuer.protocol === "http:" && isLocalIssuer(issuer)
        ? [client.allowInsecureRequests]
        : []),
    ];
    const method =
      clientSecret === undefined ? client.None() : client.ClientSecretBasic(clientSecret);
    const metadata = { [client.clockTolerance]: 60 };
    const options = { execute, timeout: TIMEOUT_SECONDS };
    const config = client.discovery(issuer, clientId, metadata, method, options);
    const known = { config, untilMs: this.#nowMs() + KNOWN_MS };
    this.#known = known;
    config.catch(() => {
      if (this.#known === known) this.#known = undefined;
    });
    return config;
  }
}

function textOf(claim: unknown): string {
  return typeof claim === "string" ? claim.slice(0, 256) : "";
}

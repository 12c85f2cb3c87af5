import { randomBytes } from "node:crypto";
import type { Clock } from "@stackwright/base/clock";
import { KeyedRateLimiter, type RateLimit } from "@stackwright/base/limiter";
import {
  type CredentialStore,
  isRegistryError,
  isRole,
  type RegistryError,
} from "@stackwright/registry";
import type { LoginPort } from "@stackwright/tfe";
import { COMMAND_TOKEN_MS } from "../access/command-token.ts";
import type { LoginSessions } from "../access/login-sessions.ts";
import { addressGroup } from "../sign-in/address-group.ts";
import { sessionSecretOf } from "../sign-in/cookies.ts";

/** Requests of one remote address: pages are opened by hand. */
const ADDRESS_LIMIT: RateLimit = Object.freeze({ perSecond: 10, burst: 100 });

interface LoginPortParts {
  readonly credentials: CredentialStore;
  readonly clock: Clock;
  readonly codeKey: () => Promise<Uint8Array>;
  readonly sessions: LoginSessions;
  /** Names of the identity providers of the sign-in. */
  readonly providers: readonly string[];
  /** The address of the server as browsers see it. */
  readonly origin: () => string;
}

/**
 * Sign-in by a token of this server: the command gets one of its own, which is valid as long as that one, with its roles and projects. Or
 * by the login session of a browser: the command gets a token of the user.
 */
export function createLoginPort(parts: LoginPortParts): LoginPort {
  const { credentials, clock, codeKey, sessions } = parts;
  const limiter = new KeyedRateLimiter(ADDRESS_LIMIT, () => clock.monotonicMs());
  return {
    admit: (address) => limiter.take(addressGroup(address)),
    owner: async (token) => {
      const found = await credentials.tokenOwner(token);
      if (found === undefined) return undefined;
      const { account, actor, credential, roles, projects, expireTimeMs } = found.principal;
      // A worker is no user; a token that is limited to parts of the store has no roles of its own.
      const given = roles.filter((role) => role !== "worker");
      if (given.length === 0) return undefined;
      return {
        account,
        actor: credential ?? actor,
        roles: given,
        projects,
        untilMs: expireTimeMs ?? null,
      };
    },
    session: async (headers) => {
      const secret = sessionSecretOf(headers, parts.origin());
      const principal = secret === undefined ? undefined : await sessions.principalOf(secret);
      if (secret === undefined || principal?.user === undefined) return undefined;
      const { account, actor, user } = principal;
      // All that the user may, at the time of each request.
      const owner = { account, actor, user, roles: ["admin"], projects: [], untilMs: null };
      return { owner, name: user, pageToken: await sessions.pageToken(secret) };
    },
    signInLinks: (to) =>
      parts.providers.map((name) => ({
        name,
        path: `/auth/login/${name}?to=${encodeURIComponent(to)}`,
      })),
    issue: async ({ account, actor, roles, projects, untilMs, user }, secret) => {
      const nowMs = Math.floor(clock.wallMs());
      const ends = nowMs + COMMAND_TOKEN_MS;
      try {
        const { token } = await credentials.createToken({
          account,
          roles: roles.filter(isRole),
          projects,
          description: user === undefined ? `terraform login of ${actor}` : "login in a browser",
          expireTimeMs: Math.min(ends, untilMs ?? ends),
          token: `sw_${Buffer.from(secret).toString("base64url")}`,
          ...(user === undefined ? { parent: actor } : { user }),
        });
        return token;
      } catch (error) {
        if (isRegistryError(error) && isRefusal(error)) return undefined;
        throw error;
      }
    },
    codeKey,
    wallMs: () => clock.wallMs(),
    nonce: () => randomBytes(16),
  };
}

/** Whether the token of the sign-in has ended, the code was used before, or there are as many tokens as may be. */
function isRefusal({ code, details }: RegistryError): boolean {
  const isUsed = code === "REGISTRY_INVALID_FIELD" && details.problem === "duplicate";
  return isUsed || code === "REGISTRY_NOT_FOUND" || code === "REGISTRY_QUOTA_EXCEEDED";
}

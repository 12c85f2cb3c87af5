import { randomBytes } from "node:crypto";
import type { Clock } from "@stackwright/base/clock";
import { KeyedRateLimiter, type RateLimit } from "@stackwright/base/limiter";
import { type CredentialStore, isRole, RegistryError } from "@stackwright/registry";
import { isStorageError } from "@stackwright/storage";
import type { LoginPort } from "@stackwright/tfe";

/** How long the token of a command is valid. */
const TOKEN_MS = 90 * 24 * 3_600_000;

/** Requests of one remote address: pages are opened by hand. */
const ADDRESS_LIMIT: RateLimit = Object.freeze({ perSecond: 10, burst: 100 });

interface LoginPortParts {
  readonly credentials: CredentialStore;
  readonly clock: Clock;
  readonly codeKey: () => Promise<Uint8Array>;
}

/** Sign-in by a token of this server: the command gets one of its own, which is valid as long as that one, with its roles and projects. */
export function createLoginPort({ credentials, clock, codeKey }: LoginPortParts): LoginPort {
  const limiter = new KeyedRateLimiter(ADDRESS_LIMIT, () => clock.monotonicMs());
  return {
    admit: (address) => limiter.take(address),
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
    issue: async ({ account, actor, roles, projects, untilMs }, secret) => {
      const ends = Math.floor(clock.wallMs()) + TOKEN_MS;
      try {
        const { token } = await credentials.createToken({
          account,
          roles: roles.filter(isRole),
          projects,
          description: `terraform login of ${actor}`,
          expireTimeMs: Math.min(ends, untilMs ?? ends),
          token: `sw_${Buffer.from(secret).toString("base64url")}`,
          parent: actor,
        });
        return token;
      } catch (error) {
        if (isStorageError(error, "STORAGE_CAS_FAILURE", "STORAGE_WRONG_UID")) return undefined;
        const isEnded = error instanceof RegistryError && error.code === "REGISTRY_NOT_FOUND";
        if (isEnded) return undefined;
        throw error;
      }
    },
    codeKey,
    wallMs: () => clock.wallMs(),
    nonce: () => randomBytes(16),
  };
}

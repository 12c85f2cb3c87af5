import type { Clock } from "@stackwright/base/clock";
import {
  createVerifier,
  isSignatureHeader,
  type ReplayGuard,
  type SignableRequest,
  SigningError,
  type VerifiableRequest,
  type Verifier,
} from "@stackwright/request-signing";
import { RegistryError } from "../errors.ts";
import type { CredentialStore } from "./credentials.ts";
import type { Principal } from "./principal.ts";
import { createStoreReplayGuard } from "./store-replay-guard.ts";

/** Authenticates the sender of a request. */
export interface Authenticator {
  /**
   * Throws `REGISTRY_UNAUTHENTICATED`, always with the same message, and `REGISTRY_FORBIDDEN` for a
   * scope that the credential does not have. The reason is in `cause`, for logs only.
   */
  authenticate(request: VerifiableRequest): Promise<Principal>;
}

/** Options of {@link createAuthenticator}. */
export interface AuthenticatorOptions {
  readonly credentials: CredentialStore;
  readonly clock: Clock;
  readonly region: string;
  /**
   * A guard in memory forgets with the process, so it protects no request across a restart.
   *
   * @default one in the store of the credentials
   */
  readonly replayGuard?: ReplayGuard | undefined;
  /** How far the date of a signature may be from the present. @default 900,000 */
  readonly maxSkewMs?: number | undefined;
}

/** Service names in derived signatures that are taken for this one. */
const SERVICES = ["aos", "rfs"];
const BEARER = /^bearer +(\S+)$/i;

/**
 * Authenticates access keys by their signatures, and tokens in `X-Auth-Token` or as `Bearer`. A request carries exactly
 * one of them, once: with two the sender would be ambiguous, and a proxy that can add a header to a request could
 * change its sender.
 *
 * The account is that of the credential. `X-Domain-Id` and `X-Project-Id`, which some clients add after
 * signing, only choose among what the credential has, and are refused for anything else.
 */
export function createAuthenticator(options: AuthenticatorOptions): Authenticator {
  const { credentials, clock, region } = options;
  const now = (): number => clock.wallMs();
  const verifier: Verifier = createVerifier({
    secretFor: async (accessKey) => (await credentials.keyWithSecret(accessKey))?.secret,
    now,
    replayGuard: options.replayGuard ?? createStoreReplayGuard(credentials.records),
    derivedScopes: SERVICES.map((service) => ({ region, service })),
    ...(options.maxSkewMs === undefined ? {} : { maxSkewMs: options.maxSkewMs }),
  });

  async function authenticateRequest(request: VerifiableRequest): Promise<Principal> {
    const authorization = only(request, "authorization");
    const xAuthToken = only(request, "x-auth-token");
    if (authorization !== undefined && xAuthToken !== undefined) {
      throw unauthenticated("both Authorization and X-Auth-Token");
    }
    if (authorization !== undefined && isSignatureHeader(authorization)) {
      const { accessKey } = await verifier.verify(request);
      const key = await credentials.keyWithSecret(accessKey);
      if (key === undefined) throw unauthenticated("the key was revoked meanwhile");
      return key.principal;
    }
    const token = xAuthToken ?? (authorization && BEARER.exec(authorization)?.[1]);
    const owner = token === undefined ? undefined : await credentials.tokenOwner(token);
    if (owner === undefined) throw unauthenticated("no usable credential");
    return owner.principal;
  }

  return {
    async authenticate(request) {
      try {
        const principal = await authenticateRequest(request);
        checkSelection(request, principal);
        return principal;
      } catch (error) {
        if (error instanceof SigningError) throw unauthenticated(error.code, error);
        throw error;
      }
    },
  };
}

function checkSelection(request: SignableRequest, principal: Principal): void {
  const domain = only(request, "x-domain-id");
  if (domain !== undefined && domain !== principal.account) {
    throw new RegistryError("REGISTRY_FORBIDDEN", "X-Domain-Id names another account");
  }
  const project = only(request, "x-project-id");
  const { projects } = principal;
  if (project !== undefined && projects.length > 0 && !projects.includes(project)) {
    throw new RegistryError("REGISTRY_FORBIDDEN", "X-Project-Id names another project");
  }
}

function only(request: SignableRequest, name: string): string | undefined {
  const values = request.headers.filter(([key]) => key.toLowerCase() === name);
  if (values.length > 1) throw unauthenticated(`several ${name} headers`);
  return values[0]?.[1].trim();
}

function unauthenticated(reason: string, cause?: unknown): RegistryError {
  return new RegistryError("REGISTRY_UNAUTHENTICATED", "authentication failed", {
    cause: cause ?? new Error(reason),
  });
}

import { randomUUID } from "node:crypto";
import type { Clock } from "@stackwright/base/clock";
import { type JWK, SignJWT } from "jose";
import { type DescribedKey, IDENTITY_ALGORITHM, type IdentityKeys } from "./identity-keys.ts";

/** How long a token is valid. The file of a run gets another one before. */
const LIFE_SECONDS = 15 * 60;

/** The run that a token is for. */
export interface RunIdentity {
  readonly account: string;
  readonly project: string;
  /** Name of the stack. */
  readonly stack: string;
  readonly stackId: string;
  readonly run: string;
  /** A recovery may write, as an apply does. */
  readonly phase: "plan" | "apply";
  readonly mode: string;
}

interface IdentityIssuerOptions {
  readonly keys: IdentityKeys;
  readonly clock: Pick<Clock, "wallMs">;
  /** The address of the server as platforms see it. */
  readonly origin: () => string;
}

/** Vouches for runs: signs the tokens by which clouds and Vault recognise them, with keys that anybody can read. */
export class IdentityIssuer {
  readonly #options: IdentityIssuerOptions;

  constructor(options: IdentityIssuerOptions) {
    this.#options = options;
  }

  /** A token of a run for one audience. */
  async issue(
    run: RunIdentity,
    audience: string,
  ): Promise<{ readonly token: string; readonly expiresAtMs: number }> {
    const { keys, clock, origin } = this.#options;
    const { id, key } = await keys.current();
    const now = Math.floor(clock.wallMs() / 1_000);
    const expires = now + LIFE_SECONDS;
    const token = await new SignJWT(claimsOf(run))
      .setProtectedHeader({ alg: IDENTITY_ALGORITHM, typ: "JWT", kid: id })
      .setIssuer(origin())
      .setSubject(subjectOf(run))
      .setAudience(audience)
      .setIssuedAt(now)
      .setNotBefore(now)
      .setExpirationTime(expires)
      .setJti(randomUUID())
      .sign(key);
    return { token, expiresAtMs: expires * 1_000 };
  }

  /** What a verifier has to know of the issuer. */
  document(): Readonly<Record<string, unknown>> {
    const { issuer, keys } = this.address;
    return {
      issuer,
      jwks_uri: keys,
      response_types_supported: ["id_token"],
      subject_types_supported: ["public"],
      id_token_signing_alg_values_supported: [IDENTITY_ALGORITHM],
      scopes_supported: ["openid"],
      claims_supported: [...STANDARD, ...Object.keys(claimsOf(EXAMPLE))],
    };
  }

  readonly algorithm = IDENTITY_ALGORITHM;
  /** How long a token is valid. */
  readonly lifeSeconds = LIFE_SECONDS;

  /** The address by which platforms know the issuer, and where its keys are. */
  get address(): { readonly issuer: string; readonly keys: string } {
    const issuer = this.#options.origin();
    return { issuer, keys: `${issuer}/.well-known/jwks` };
  }

  async describedKeys(): Promise<readonly DescribedKey[]> {
    return this.#options.keys.described();
  }

  async publishedKeys(): Promise<readonly JWK[]> {
    return this.#options.keys.published();
  }
}

const STANDARD = ["iss", "sub", "aud", "iat", "nbf", "exp", "jti"];

/** No name contains a colon, so that no two runs of different stacks have one subject. */
export function subjectOf({
  account,
  project,
  stack,
  phase,
}: Pick<RunIdentity, "account" | "project" | "stack" | "phase">): string {
  return `account:${account}:project:${project}:stack:${stack}:phase:${phase}`;
}

/** The claims beside those of every token; the last ones are called as policies that were written for HCP Terraform call them. */
function claimsOf(run: RunIdentity) {
  const { account, project, stack, stackId, phase } = run;
  return {
    stackwright_account: account,
    stackwright_project: project,
    stackwright_stack: stack,
    stackwright_stack_id: stackId,
    stackwright_run_id: run.run,
    stackwright_run_phase: phase,
    stackwright_run_mode: run.mode,
    terraform_organization_name: account,
    terraform_project_name: project,
    terraform_workspace_name: stack,
    terraform_workspace_id: stackId,
    terraform_full_workspace: `organization:${account}:project:${project}:workspace:${stack}`,
    terraform_run_id: run.run,
    terraform_run_phase: phase,
  };
}

const EXAMPLE: RunIdentity = Object.freeze({
  account: "",
  project: "",
  stack: "",
  stackId: "",
  run: "",
  phase: "plan",
  mode: "",
});

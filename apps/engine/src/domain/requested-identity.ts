/** A token that a stack asks for: what its variables are called by, and whom it is for. */
interface RequestedIdentity {
  /** `""` for the one without a tag. */
  readonly tag: string;
  readonly audience: string;
}

/** A token of a run. */
export interface IdentityToken {
  readonly tag: string;
  readonly token: string;
  /** Milliseconds since 1970. */
  readonly expiresAtMs: number;
}

/** What the variables begin with by which a stack asks for tokens. */
export const IDENTITY_VARIABLE = "STACKWRIGHT_IDENTITY_";
const AUDIENCE =
  /^(?:STACKWRIGHT_IDENTITY|TFC_WORKLOAD_IDENTITY)_AUDIENCE(?:_([A-Z][A-Z0-9_]{0,30}))?$/;
/** Printable, as it is compared text by text. */
const AUDIENCE_FORM = /^[\x21-\x7e]{1,512}$/;
/** Tokens of one run. */
const MAX_REQUESTED = 16;

type Environment = Readonly<Record<string, string>>;

/** A setting of a platform: for one phase alone, or for both. */
export function identitySetting(
  environment: Environment,
  name: string,
  phase: "plan" | "apply",
): string | undefined {
  const of = (text: string): string | undefined =>
    environment[IDENTITY_VARIABLE + text] || undefined;
  const [platform = "", ...rest] = name.split("_");
  return of([platform, phase.toUpperCase(), ...rest].join("_")) ?? of(name);
}

/** The platforms and the default audiences of their tokens, by tag. */
const PLATFORMS: Readonly<Record<string, (environment: Environment) => string | undefined>> = {
  AWS: (environment) => (isSet(environment, "AWS_ROLE_ARN") ? "aws.workload.identity" : undefined),
  GCP: (environment) => {
    const provider = environment[`${IDENTITY_VARIABLE}GCP_PROVIDER`];
    return provider === undefined || provider === "" ? undefined : gcpAudience(provider);
  },
  AZURE: (environment) =>
    isSet(environment, "AZURE_CLIENT_ID") ? "api://AzureADTokenExchange" : undefined,
};

/** The name by which Google's token service knows the provider of a pool. */
export function gcpAudience(provider: string): string {
  return `//iam.googleapis.com/${provider}`;
}

function isSet(environment: Environment, name: string): boolean {
  return (["plan", "apply"] as const).some(
    (phase) => identitySetting(environment, name, phase) !== undefined,
  );
}

/**
 * The tokens that the environment of a stack asks for: each `STACKWRIGHT_IDENTITY_AUDIENCE[_TAG]` and each platform that has
 * settings. Audiences that no verifier could compare are left out.
 */
export function requestedIdentities(environment: Environment): readonly RequestedIdentity[] {
  const audiences = new Map<string, string>();
  for (const [tag, audienceOf] of Object.entries(PLATFORMS)) {
    const audience = audienceOf(environment);
    if (audience !== undefined) audiences.set(tag, audience);
  }
  // The names of other platforms first, so that our own win.
  const names = Object.keys(environment).toSorted().toReversed();
  for (const name of names) {
    const found = AUDIENCE.exec(name);
    const audience = environment[name] ?? "";
    if (found !== null && audience !== "") audiences.set(found[1] ?? "", audience);
  }
  return [...audiences]
    .filter(([, audience]) => AUDIENCE_FORM.test(audience))
    .slice(0, MAX_REQUESTED)
    .map(([tag, audience]) => ({ tag, audience }));
}

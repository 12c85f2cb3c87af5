import { mkdir, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type Clock, sleep, systemClock } from "@stackwright/base/clock";
import type { Redactor } from "@stackwright/core";
import {
  gcpAudience,
  IDENTITY_VARIABLE,
  type IdentityToken,
  identitySetting,
  requestedIdentities,
} from "../domain/requested-identity.ts";
import type { ExecutionJob } from "./execution-job.ts";
import type { ExecutionHost } from "./executor.ts";

/** How often the files get other tokens: two of three times may fail before the first ones end. */
const RENEWED_MS = 5 * 60_000;

type Environment = Readonly<Record<string, string>>;

/** Tokens of a run in files of its executor. Disposing ends their renewal. */
interface JobIdentity extends AsyncDisposable {
  /** The job with the variables by which programs find the tokens. */
  readonly job: ExecutionJob;
  /** Tells a redactor the tokens of later renewals. */
  hideFrom(secrets: Redactor): void;
}

/**
 * Gets the tokens that a job's variables ask for and writes them to files in its folder, in which they are replaced while it runs. A
 * token that is only a variable is that of the beginning.
 */
export async function openJobIdentity(
  job: ExecutionJob,
  host: Pick<ExecutionHost, "identityTokens">,
  clock: Clock = systemClock,
): Promise<JobIdentity> {
  const none = { job, hideFrom: () => undefined, [Symbol.asyncDispose]: async () => undefined };
  if (requestedIdentities(job.environment).length === 0) return none;
  const first = await host.identityTokens();
  if (first.length === 0) return none;
  const folder = identityFolder(job);
  await mkdir(folder, { mode: 0o700 });
  await writeTokens(folder, first);
  const { environment, secret, files } = identityEnvironment(job, folder, first);
  for (const [name, text] of files) await writeFile(join(folder, name), text, { mode: 0o600 });
  const ended = new AbortController();
  let redactor: Redactor | undefined;
  const renew = async (): Promise<void> => {
    for (;;) {
      await sleep(clock, RENEWED_MS, ended.signal);
      const tokens = await host.identityTokens().catch(() => []);
      if (ended.signal.aborted) return;
      for (const { token } of tokens) redactor?.add(token);
      await writeTokens(folder, tokens);
    }
  };
  const renewal = renew().catch(() => undefined);
  return {
    job: {
      ...job,
      environment: { ...job.environment, ...environment },
      sensitive: {
        ...job.sensitive,
        environment: [...new Set([...job.sensitive.environment, ...secret])],
      },
    },
    hideFrom: (secrets) => {
      redactor = secrets;
    },
    [Symbol.asyncDispose]: async () => {
      ended.abort();
      await renewal;
    },
  };
}

/** Where the tokens of a job are. */
export function identityFolder({ folder }: Pick<ExecutionJob, "folder">): string {
  return join(folder, "identity");
}

/** A program that reads one meanwhile finds the former token or the next one, whole. */
async function writeTokens(folder: string, tokens: readonly IdentityToken[]): Promise<void> {
  for (const { tag, token } of tokens) {
    const path = join(folder, fileOf(tag));
    await writeFile(`${path}.next`, token, { mode: 0o600 });
    await rename(`${path}.next`, path);
  }
}

function fileOf(tag: string): string {
  return tag === "" ? "token" : `token-${tag.toLowerCase()}`;
}

/** Variables and files by which programs find tokens: by names of our own, and as the providers of platforms expect them. */
function identityEnvironment(
  { step, environment: given, run }: Pick<ExecutionJob, "step" | "environment" | "run">,
  folder: string,
  tokens: readonly IdentityToken[],
): {
  readonly environment: Environment;
  /** Names of the variables that are tokens. */
  readonly secret: readonly string[];
  readonly files: readonly (readonly [name: string, text: string])[];
} {
  const phase = step === "plan" ? "plan" : "apply";
  const setting = (name: string): string | undefined => identitySetting(given, name, phase);
  const environment: Record<string, string> = {};
  const secret: string[] = [];
  const files: [string, string][] = [];
  const hidden = (name: string, token: string): void => {
    environment[name] = token;
    secret.push(name);
  };
  for (const { tag, token } of tokens) {
    const path = join(folder, fileOf(tag));
    const suffix = tag === "" ? "" : `_${tag}`;
    hidden(`${IDENTITY_VARIABLE}TOKEN${suffix}`, token);
    environment[`${IDENTITY_VARIABLE}TOKEN_FILE${suffix}`] = path;
    if (isAskedByOtherName(given, suffix)) hidden(`TFC_WORKLOAD_IDENTITY_TOKEN${suffix}`, token);
    const role = setting("AWS_ROLE_ARN");
    if (tag === "AWS" && role !== undefined) {
      environment["AWS_ROLE_ARN"] = role;
      environment["AWS_WEB_IDENTITY_TOKEN_FILE"] = path;
      environment["AWS_ROLE_SESSION_NAME"] = `stackwright-${run}`.slice(0, 64);
    }
    const provider = setting("GCP_PROVIDER");
    if (tag === "GCP" && provider !== undefined) {
      const name = "gcp.json";
      files.push([name, gcpCredentials(provider, path, setting("GCP_SERVICE_ACCOUNT"))]);
      environment["GOOGLE_APPLICATION_CREDENTIALS"] = join(folder, name);
    }
    const client = setting("AZURE_CLIENT_ID");
    if (tag === "AZURE" && client !== undefined) {
      environment["ARM_USE_OIDC"] = "true";
      environment["ARM_CLIENT_ID"] = client;
      environment["ARM_OIDC_TOKEN_FILE_PATH"] = path;
      environment["AZURE_CLIENT_ID"] = client;
      environment["AZURE_FEDERATED_TOKEN_FILE"] = path;
    }
    if (tag === "VAULT") hidden("TERRAFORM_VAULT_AUTH_JWT", token);
  }
  return { environment, secret, files };
}

function isAskedByOtherName(given: Environment, suffix: string): boolean {
  return (given[`TFC_WORKLOAD_IDENTITY_AUDIENCE${suffix}`] ?? "") !== "";
}

/** How Google's libraries exchange the token, in place of a key of a service account. */
function gcpCredentials(provider: string, path: string, account: string | undefined): string {
  return JSON.stringify({
    type: "external_account",
    audience: gcpAudience(provider),
    subject_token_type: "urn:ietf:params:oauth:token-type:jwt",
    token_url: "https://sts.googleapis.com/v1/token",
    credential_source: { file: path, format: { type: "text" } },
    ...(account !== undefined && {
      service_account_impersonation_url: `https://iamcredentials.googleapis.com/v1/projects/-/serviceAccounts/${encodeURIComponent(account)}:generateAccessToken`,
    }),
  });
}

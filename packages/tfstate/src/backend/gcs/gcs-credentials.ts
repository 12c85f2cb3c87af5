import { createSign } from "node:crypto";
import { readFile } from "node:fs/promises";
import { homedir } from "node:os";
import { join, resolve } from "node:path";
import { TfstateError } from "../../errors.ts";
import type { BackendArguments } from "../backend-arguments.ts";
import { requireNamedFile } from "../named-file.ts";
import type { BackendCall } from "../state-backend.ts";
import { sendRequest, type WebAnswer } from "../web-request.ts";

/** A bearer token for the next request. */
export type TokenSource = (call: BackendCall) => Promise<string>;

/** What the environment of a command says about credentials. */
export interface GcsEnvironment {
  /** The directory of the root module: relative paths start there. */
  readonly directory: string;
  readonly env: NodeJS.ProcessEnv;
  /** The account of the machine is not that of the one who asks. @default false */
  readonly isIsolated?: boolean;
  /** Folders in which the files of credentials are. @default anywhere */
  readonly filesWithin?: readonly string[] | undefined;
  /** Of the largest state that is read. @default 512 MiB */
  readonly maxBytes?: number;
  /** Where tokens of another account are made. @default Google's */
  readonly iamEndpoint?: string;
}

interface Token {
  readonly value: string;
  readonly expiresMs: number;
}

type Fetch = (call: BackendCall) => Promise<Token>;

const SCOPE = "https://www.googleapis.com/auth/devstorage.read_write";
const WIDE_SCOPE = "https://www.googleapis.com/auth/cloud-platform";
const GOOGLE_TOKENS = "https://oauth2.googleapis.com/token";
const GOOGLE_IAM = "https://iamcredentials.googleapis.com";
const METADATA_HOST = "metadata.google.internal";
/** A token is replaced so long before its end. */
const EARLY_MS = 60_000;
const METADATA_DEADLINE_MS = 5_000;

/**
 * The token that the reference command would use: `access_token`, `credentials` (a path or JSON), application default
 * credentials, or the account of the machine; on behalf of `impersonate_service_account`. Nothing is contacted yet.
 */
export function gcsTokens(
  configuration: BackendArguments,
  { iamEndpoint = GOOGLE_IAM, ...environment }: GcsEnvironment,
): TokenSource {
  const account = configuration.text(
    "impersonate_service_account",
    "GOOGLE_BACKEND_IMPERSONATE_SERVICE_ACCOUNT",
    "GOOGLE_IMPERSONATE_SERVICE_ACCOUNT",
  );
  const scope = account === undefined ? SCOPE : WIDE_SCOPE;
  const own = ownToken(configuration, environment, scope);
  if (account === undefined) return kept(own);
  const url = `${iamEndpoint}/v1/projects/-/serviceAccounts/${encodeURIComponent(account)}:generateAccessToken`;
  const delegates = configuration.texts("impersonate_service_account_delegates") ?? [];
  return kept(impersonated(url, delegates, kept(own), configuration));
}

function ownToken(
  configuration: BackendArguments,
  { directory, env, filesWithin, isIsolated = false }: GcsEnvironment,
  scope: string,
): Fetch {
  const given = configuration.text("access_token", "GOOGLE_OAUTH_ACCESS_TOKEN");
  if (given !== undefined) return async () => ({ value: given, expiresMs: Infinity });
  const credentials = configuration.text(
    "credentials",
    "GOOGLE_BACKEND_CREDENTIALS",
    "GOOGLE_CREDENTIALS",
  );
  const files = { directory, filesWithin };
  let fetch: Fetch | undefined;
  return async (call) => {
    fetch ??= await openCredentials();
    return fetch(call);
  };

  async function openCredentials(): Promise<Fetch> {
    if (credentials !== undefined) {
      const text = credentials.trimStart().startsWith("{")
        ? credentials
        : await readCredentials(
            resolve(directory, expandHome(credentials, env)),
            { shown: "the credentials", filesWithin },
            configuration,
          );
      return credentialsToken(text, scope, files, configuration);
    }
    const named = env["GOOGLE_APPLICATION_CREDENTIALS"] ?? "";
    if (named !== "") {
      return credentialsToken(
        await readCredentials(
          named,
          { shown: "GOOGLE_APPLICATION_CREDENTIALS", filesWithin },
          configuration,
        ),
        scope,
        files,
        configuration,
      );
    }
    const folder =
      (env["CLOUDSDK_CONFIG"] ?? "") || join(env["HOME"] ?? homedir(), ".config", "gcloud");
    const path = join(folder, "application_default_credentials.json");
    requireNamedFile(path, filesWithin, configuration);
    const text = await readFile(path, "utf8").catch((error: NodeJS.ErrnoException) => {
      if (error.code === "ENOENT" || error.code === "ENOTDIR") return undefined;
      throw unreadable(path, configuration, error);
    });
    if (text !== undefined) return credentialsToken(text, scope, files, configuration);
    if (!isIsolated) return machineToken(env, configuration);
    throw configuration.invalid(
      "no credentials: the variables of the stack need GOOGLE_CREDENTIALS or GOOGLE_OAUTH_ACCESS_TOKEN; the account of the machine is not used here",
    );
  }
}

/** Keeps a token until shortly before its end. */
function kept(fetch: Fetch): TokenSource {
  let token: Token | undefined;
  return async (call) => {
    if (token === undefined || token.expiresMs - EARLY_MS <= Date.now()) token = await fetch(call);
    return token.value;
  };
}

function expandHome(path: string, env: NodeJS.ProcessEnv): string {
  return path.startsWith("~/") ? join(env["HOME"] ?? homedir(), path.slice(2)) : path;
}

/** The path is not shown where the user may have given the credentials themselves. */
async function readCredentials(
  path: string,
  {
    shown,
    filesWithin,
  }: { readonly shown: string; readonly filesWithin: readonly string[] | undefined },
  configuration: BackendArguments,
): Promise<string> {
  requireNamedFile(path, filesWithin, configuration);
  return readFile(path, "utf8").catch((error: unknown) => {
    throw unreadable(shown, configuration, error);
  });
}

function unreadable(shown: string, configuration: BackendArguments, error: unknown): TfstateError {
  const code = (error as NodeJS.ErrnoException).code ?? "unknown error";
  return configuration.invalid(`the file of ${shown} is not readable (${code})`);
}

/** Where the files are that credentials name. */
type CredentialFiles = Pick<GcsEnvironment, "directory" | "filesWithin">;

function credentialsToken(
  text: string,
  scope: string,
  files: CredentialFiles,
  configuration: BackendArguments,
): Fetch {
  let file: unknown;
  try {
    file = JSON.parse(text);
  } catch {
    throw configuration.invalid("the credentials are not valid JSON");
  }
  return fileToken(file, scope, files, configuration);
}

function fileToken(
  file: unknown,
  scope: string,
  files: CredentialFiles,
  configuration: BackendArguments,
): Fetch {
  const member = (name: string): string => {
    const value = (file as Readonly<Record<string, unknown>> | null)?.[name];
    if (typeof value === "string" && value !== "") return value;
    throw configuration.invalid(`the credentials have no "${name}"`);
  };
  const optional = (name: string): unknown =>
    (file as Readonly<Record<string, unknown>> | null)?.[name];
  const type = member("type");
  const tokenUri =
    typeof optional("token_uri") === "string" && optional("token_uri") !== ""
      ? member("token_uri")
      : GOOGLE_TOKENS;
  switch (type) {
    case "service_account": {
      const issuer = member("client_email");
      const key = member("private_key");
      requireSafe(tokenUri, configuration);
      return async (call) => {
        const assertion = signedClaims({ issuer, key, scope, audience: tokenUri }, configuration);
        const grant = "urn:ietf:params:oauth:grant-type:jwt-bearer";
        return postForm(tokenUri, { grant_type: grant, assertion }, configuration, call);
      };
    }
    case "authorized_user": {
      const form = {
        grant_type: "refresh_token",
        client_id: member("client_id"),
        client_secret: member("client_secret"),
        refresh_token: member("refresh_token"),
      };
      requireSafe(tokenUri, configuration);
      return async (call) => postForm(tokenUri, form, configuration, call);
    }
    case "impersonated_service_account": {
      const url = member("service_account_impersonation_url");
      requireSafe(url, configuration);
      const source = kept(
        fileToken(optional("source_credentials"), WIDE_SCOPE, files, configuration),
      );
      const delegates = optional("delegates");
      return impersonated(
        url,
        Array.isArray(delegates) ? delegates.filter((name) => typeof name === "string") : [],
        source,
        configuration,
      );
    }
    case "external_account": {
      const url = optional("service_account_impersonation_url");
      const exchanged = { audience: member("audience"), type: member("subject_token_type") };
      const tokenUrl = member("token_url");
      requireSafe(tokenUrl, configuration);
      const source = subjectToken(optional("credential_source"), files, configuration);
      const exchange =
        (wanted: string): Fetch =>
        async (call) => {
          const form = {
            grant_type: "urn:ietf:params:oauth:grant-type:token-exchange",
            requested_token_type: "urn:ietf:params:oauth:token-type:access_token",
            audience: exchanged.audience,
            scope: wanted,
            subject_token_type: exchanged.type,
            // Read anew each time: its program renews the file.
            subject_token: await source(),
          };
          return postForm(tokenUrl, form, configuration, call);
        };
      if (url === undefined) return exchange(scope);
      const account = member("service_account_impersonation_url");
      requireSafe(account, configuration);
      return impersonated(account, [], kept(exchange(WIDE_SCOPE)), configuration);
    }
    default:
      throw configuration.invalid(
        "credentials of this type are not supported, only service_account, authorized_user, impersonated_service_account and external_account; set access_token, or read the state through the installed command (--pull)",
      );
  }
}

/** The token of another issuer in a file, as text or as a member of JSON: other sources of it are programs and servers of a machine. */
function subjectToken(
  source: unknown,
  { directory, filesWithin }: CredentialFiles,
  configuration: BackendArguments,
): () => Promise<string> {
  const { file, format } = (source ?? {}) as {
    readonly file?: unknown;
    readonly format?: { readonly type?: unknown; readonly subject_token_field_name?: unknown };
  };
  if (typeof file !== "string" || file === "") {
    throw configuration.invalid(
      'the credentials have no "file" in their credential_source; tokens of programs and of servers are not read',
    );
  }
  return async () => {
    const shown = "the token of the credentials";
    const text = await readCredentials(
      resolve(directory, file),
      { shown, filesWithin },
      configuration,
    );
    if (format?.type !== "json") return text.trim();
    let token: unknown;
    try {
      const { subject_token_field_name: name } = format;
      if (typeof name === "string") {
        token = (JSON.parse(text) as Readonly<Record<string, unknown>>)[name];
      }
    } catch {
      // The same problem.
    }
    if (typeof token === "string" && token !== "") return token;
    throw configuration.invalid("the file of the token has no such member");
  };
}

/** Credentials leave only over TLS, or to this machine. */
function requireSafe(text: string, configuration: BackendArguments): void {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const local = ["localhost", "127.0.0.1", "[::1]"].includes(url?.hostname ?? "");
  if (url?.protocol === "https:" || (local && url?.protocol === "http:")) return;
  throw configuration.invalid("the credentials name an address that is not https");
}

/** A signed assertion of a service account, valid for an hour. */
function signedClaims(
  {
    issuer,
    key,
    scope,
    audience,
  }: {
    readonly issuer: string;
    readonly key: string;
    readonly scope: string;
    readonly audience: string;
  },
  configuration: BackendArguments,
): string {
  const now = Math.floor(Date.now() / 1_000);
  const encode = (value: object): string =>
    Buffer.from(JSON.stringify(value)).toString("base64url");
  const claims = { iss: issuer, scope, aud: audience, iat: now, exp: now + 3_600 };
  const text = `${encode({ alg: "RS256", typ: "JWT" })}.${encode(claims)}`;
  try {
    return `${text}.${createSign("RSA-SHA256").update(text).sign(key, "base64url")}`;
  } catch {
    throw configuration.invalid('the "private_key" of the credentials is not valid');
  }
}

async function postForm(
  url: string,
  form: Readonly<Record<string, string>>,
  configuration: BackendArguments,
  { signal }: BackendCall,
): Promise<Token> {
  const answer = await sendRequest({
    method: "POST",
    url,
    signal,
    headers: { "Content-Type": "application/x-www-form-urlencoded" },
    body: new URLSearchParams(form).toString(),
  });
  return tokenOf(answer, "access_token", configuration);
}

/** Tokens of another account, by the right of the own one. */
function impersonated(
  url: string,
  delegates: readonly string[],
  source: TokenSource,
  configuration: BackendArguments,
): Fetch {
  return async (call) => {
    const answer = await sendRequest({
      method: "POST",
      url,
      signal: call.signal,
      headers: {
        Authorization: `Bearer ${await source(call)}`,
        "Content-Type": "application/json",
      },
      body: JSON.stringify({
        scope: [SCOPE],
        lifetime: "3600s",
        ...(delegates.length > 0 && { delegates }),
      }),
    });
    return tokenOf(answer, "accessToken", configuration);
  };
}

/** Of the account of a machine in Google's cloud. */
function machineToken(env: NodeJS.ProcessEnv, configuration: BackendArguments): Fetch {
  const host = (env["GCE_METADATA_HOST"] ?? "") || METADATA_HOST;
  return async ({ signal }) => {
    const request = {
      method: "GET",
      url: `http://${host}/computeMetadata/v1/instance/service-accounts/default/token`,
      headers: { "Metadata-Flavor": "Google" },
      retries: 0,
      deadlineMs: METADATA_DEADLINE_MS,
      signal,
    };
    let answer: WebAnswer;
    try {
      answer = await sendRequest(request);
    } catch (error) {
      signal?.throwIfAborted();
      const names = "GOOGLE_OAUTH_ACCESS_TOKEN, GOOGLE_CREDENTIALS, GOOGLE_APPLICATION_CREDENTIALS";
      throw new TfstateError(
        "TFSTATE_BACKEND_UNAVAILABLE",
        `backend "${configuration.type}": no credentials were found; set one of ${names}, or run "gcloud auth application-default login"`,
        { cause: error },
      );
    }
    return tokenOf(answer, "access_token", configuration);
  };
}

/** The token of an answer. What the answer says otherwise is not shown but for its short error code. */
function tokenOf(
  { status, body }: WebAnswer,
  member: "access_token" | "accessToken",
  { type }: BackendArguments,
): Token {
  let read: Readonly<Record<string, unknown>> = {};
  try {
    read = (JSON.parse(body.toString("utf8")) ?? {}) as typeof read;
  } catch {
    // The status says what happened.
  }
  const value = read[member];
  // A token with a line break would be another header.
  if (status === 200 && typeof value === "string" && /^[\x21-\x7e]+$/.test(value)) {
    const seconds = typeof read["expires_in"] === "number" ? read["expires_in"] : undefined;
    const until = typeof read["expireTime"] === "string" ? Date.parse(read["expireTime"]) : NaN;
    const fallback = Date.now() + (seconds ?? 300) * 1_000;
    return { value, expiresMs: Number.isNaN(until) ? fallback : until };
  }
  const code = read["error"];
  const reason = typeof code === "string" && /^[a-z_]{1,40}$/.test(code) ? `, ${code}` : "";
  throw new TfstateError(
    "TFSTATE_BACKEND_UNAVAILABLE",
    `backend "${type}": the credentials were not accepted: HTTP status ${status}${reason}`,
  );
}

import { execFile } from "node:child_process";
import { createHmac } from "node:crypto";
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { promisify } from "node:util";
import { TfstateError } from "../../errors.ts";
import type { BackendArguments } from "../backend-arguments.ts";
import { requireNamedFile } from "../named-file.ts";
import type { OpenBackendOptions } from "../open-backend.ts";
import type { BackendCall } from "../state-backend.ts";
import { answerError, sendRequest } from "../web-request.ts";

/** A request to the storage, before it is signed. */
interface StorageRequest {
  readonly method: string;
  readonly url: URL;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly length: number;
}

/** Adds what says who sends a request: headers, or members of its query. */
type Signer = (
  request: StorageRequest,
  call: BackendCall,
) => Promise<{ readonly url: URL; readonly headers: Readonly<Record<string, string>> }>;

/** Hosts of one cloud of Azure. */
interface Cloud {
  readonly suffix: string;
  readonly login: string;
  readonly management: string;
}

const CLOUDS: Readonly<Record<string, Cloud>> = {
  public: {
    suffix: "core.windows.net",
    login: "https://login.microsoftonline.com",
    management: "https://management.azure.com",
  },
  usgovernment: {
    suffix: "core.usgovcloudapi.net",
    login: "https://login.microsoftonline.us",
    management: "https://management.usgovcloudapi.net",
  },
  china: {
    suffix: "core.chinacloudapi.cn",
    login: "https://login.chinacloudapi.cn",
    management: "https://management.chinacloudapi.cn",
  },
};

const STORAGE = "https://storage.azure.com";
const IDENTITY = "http://169.254.169.254/metadata/identity/oauth2/token";
const IDENTITY_DEADLINE_MS = 5_000;
const CLI_MS = 60_000;
/** A token is replaced so long before its end. */
const EARLY_MS = 60_000;

interface Token {
  readonly value: string;
  readonly expiresMs: number;
}

type TokenFor = (resource: string, call: BackendCall) => Promise<Token>;

/** The cloud that a configuration names. */
export function azureCloud(configuration: BackendArguments): Cloud {
  const name = configuration.text("environment", "ARM_ENVIRONMENT") ?? "public";
  const cloud = Object.hasOwn(CLOUDS, name) ? CLOUDS[name] : undefined;
  if (cloud !== undefined) return cloud;
  throw configuration.invalid(
    `"environment" is "${name}"; ${Object.keys(CLOUDS).join(", ")} are known, and others are read with --pull`,
  );
}

/**
 * How the reference command would sign: with `access_key`, with `sas_token`, with a token of Entra ID where `use_azuread_auth`
 * is set, else with a key of the account that the management API gives for such a token. Nothing is contacted yet.
 */
export function azureSigner(
  configuration: BackendArguments,
  account: string,
  options: OpenBackendOptions,
): Signer {
  const key = configuration.text("access_key", "ARM_ACCESS_KEY");
  if (key !== undefined) return async (request) => sharedKey(request, account, key);
  const sas = configuration.text("sas_token", "ARM_SAS_TOKEN");
  if (sas !== undefined) {
    const members = new URLSearchParams(sas.replace(/^\?/, ""));
    return async ({ url, headers }) => {
      const signed = new URL(url);
      for (const [name, value] of members) signed.searchParams.set(name, value);
      return { url: signed, headers };
    };
  }
  const tokens = kept(azureTokens(configuration, options));
  const cloud = azureCloud(configuration);
  const direct = configuration.flag("use_azuread_auth", "ARM_USE_AZUREAD") ?? false;
  const group = configuration.text("resource_group_name");
  if (direct || group === undefined) {
    return async ({ url, headers }, call) => ({
      url,
      headers: { ...headers, Authorization: `Bearer ${await tokens(STORAGE, call)}` },
    });
  }
  const subscription = configuration.need("subscription_id", "ARM_SUBSCRIPTION_ID");
  let found: Promise<string> | undefined;
  const accountKey = async (call: BackendCall): Promise<string> => {
    const path = `/subscriptions/${encodeURIComponent(subscription)}/resourceGroups/${encodeURIComponent(group)}/providers/Microsoft.Storage/storageAccounts/${encodeURIComponent(account)}/listKeys?api-version=2023-01-01`;
    const answer = await sendRequest({
      method: "POST",
      url: cloud.management + path,
      signal: call.signal,
      headers: { Authorization: `Bearer ${await tokens(cloud.management, call)}` },
      body: "",
    });
    if (answer.status !== 200)
      throw answerError(`azurerm account ${account}`, "reading its keys", answer);
    const { keys } = JSON.parse(answer.body.toString("utf8")) as {
      readonly keys?: readonly { readonly value?: string }[];
    };
    const [first] = keys ?? [];
    if (first?.value !== undefined) return first.value;
    throw new TfstateError(
      "TFSTATE_BACKEND_UNAVAILABLE",
      `azurerm account ${account}: it has no keys; set use_azuread_auth`,
    );
  };
  return async (request, call) => {
    found ??= accountKey(call);
    found.catch(() => (found = undefined));
    return sharedKey(request, account, await found);
  };
}

/** The signature with a key of the storage account, over the method, the headers and the resource. */
function sharedKey(
  { method, url, headers, length }: StorageRequest,
  account: string,
  key: string,
): { readonly url: URL; readonly headers: Readonly<Record<string, string>> } {
  const all = { ...headers, "x-ms-date": new Date().toUTCString() };
  const standard = [
    "content-encoding",
    "content-language",
    "content-length",
    "content-md5",
    "content-type",
    "date",
    "if-modified-since",
    "if-match",
    "if-none-match",
    "if-unmodified-since",
    "range",
  ].map((name) =>
    name === "content-length"
      ? length === 0
        ? ""
        : String(length)
      : ((all as Readonly<Record<string, string>>)[name] ?? ""),
  );
  const own = Object.entries(all)
    .filter(([name]) => name.startsWith("x-ms-"))
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, value]) => `${name}:${value.trim()}`);
  const query = [...url.searchParams]
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, value]) => `\n${name.toLowerCase()}:${value}`);
  const text = [method, ...standard, ...own, `/${account}${url.pathname}${query.join("")}`].join(
    "\n",
  );
  const signature = createHmac("sha256", Buffer.from(key, "base64")).update(text).digest("base64");
  return { url, headers: { ...all, Authorization: `SharedKey ${account}:${signature}` } };
}

/** Tokens of Entra ID: of an application with a secret or a federated token, of the machine, or of the Azure CLI. */
function azureTokens(
  configuration: BackendArguments,
  { directory, env, filesWithin, isIsolated = false }: OpenBackendOptions,
): TokenFor {
  const text = (name: string, ...variables: string[]) => configuration.text(name, ...variables);
  const flag = (name: string, ...variables: string[]) =>
    configuration.flag(name, ...variables) ?? false;
  if (text("client_certificate_path", "ARM_CLIENT_CERTIFICATE_PATH") !== undefined)
    throw configuration.invalid('"client_certificate_path" is not supported; use adopt --pull');
  const client = text("client_id", "ARM_CLIENT_ID");
  const { login } = azureCloud(configuration);
  const application = async (
    resource: string,
    proof: Readonly<Record<string, string>>,
    call: BackendCall,
  ): Promise<Token> => {
    const tenant = configuration.need("tenant_id", "ARM_TENANT_ID");
    const answer = await sendRequest({
      method: "POST",
      url: `${login}/${encodeURIComponent(tenant)}/oauth2/v2.0/token`,
      signal: call.signal,
      headers: { "Content-Type": "application/x-www-form-urlencoded" },
      body: new URLSearchParams({
        grant_type: "client_credentials",
        client_id: client ?? "",
        scope: `${resource}/.default`,
        ...proof,
      }).toString(),
    });
    if (answer.status !== 200)
      throw answerError("azurerm", "getting a token", answer, Object.values(proof));
    return tokenOf(answer.body.toString("utf8"));
  };
  const secret = text("client_secret", "ARM_CLIENT_SECRET");
  if (client !== undefined && secret !== undefined)
    return async (resource, call) => application(resource, { client_secret: secret }, call);
  const isFederated =
    flag("use_oidc", "ARM_USE_OIDC") ||
    flag("use_aks_workload_identity", "ARM_USE_AKS_WORKLOAD_IDENTITY");
  if (isFederated) {
    return async (resource, call) => {
      const assertion = await federatedToken(configuration, { directory, filesWithin }, call);
      const proof = {
        client_assertion_type: "urn:ietf:params:oauth:client-assertion-type:jwt-bearer",
        client_assertion: assertion,
      };
      return application(resource, proof, call);
    };
  }
  // Not yet, as the place of a state is asked for without credentials, too.
  if (isIsolated) {
    return async () => {
      throw configuration.invalid(
        "no credentials: the variables of the stack need ARM_ACCESS_KEY, ARM_SAS_TOKEN, or ARM_CLIENT_ID with ARM_CLIENT_SECRET or a federated token; the identity of the machine and the Azure CLI are not used here",
      );
    };
  }
  if (flag("use_msi", "ARM_USE_MSI")) {
    return async (resource, { signal }) => {
      const url = new URL(text("msi_endpoint", "ARM_MSI_ENDPOINT") ?? IDENTITY);
      url.searchParams.set("api-version", "2018-02-01");
      url.searchParams.set("resource", resource);
      if (client !== undefined) url.searchParams.set("client_id", client);
      const answer = await sendRequest({
        method: "GET",
        url: url.href,
        signal,
        headers: { Metadata: "true" },
        deadlineMs: IDENTITY_DEADLINE_MS,
      });
      if (answer.status !== 200)
        throw answerError("azurerm", "getting a token of the machine", answer);
      return tokenOf(answer.body.toString("utf8"));
    };
  }
  if (configuration.flag("use_cli", "ARM_USE_CLI") === false) {
    throw configuration.invalid(
      'no credentials; set "access_key" (ARM_ACCESS_KEY), "sas_token" (ARM_SAS_TOKEN), or an application with ARM_CLIENT_ID and ARM_CLIENT_SECRET',
    );
  }
  return async (resource, { signal }) => cliToken(resource, { directory, env }, signal);
}

async function federatedToken(
  configuration: BackendArguments,
  { directory, filesWithin }: Pick<OpenBackendOptions, "directory" | "filesWithin">,
  { signal }: BackendCall,
): Promise<string> {
  const given = configuration.text("oidc_token", "ARM_OIDC_TOKEN");
  if (given !== undefined) return given;
  const path = configuration.text(
    "oidc_token_file_path",
    "ARM_OIDC_TOKEN_FILE_PATH",
    "AZURE_FEDERATED_TOKEN_FILE",
  );
  if (path !== undefined) {
    const file = resolve(directory, path);
    requireNamedFile(file, filesWithin, configuration);
    try {
      return readFileSync(file, "utf8").trim();
    } catch {
      throw configuration.invalid(`the file "${path}" of the federated token is not readable`);
    }
  }
  const request = configuration.need(
    "oidc_request_url",
    "ARM_OIDC_REQUEST_URL",
    "ACTIONS_ID_TOKEN_REQUEST_URL",
  );
  const bearer = configuration.need(
    "oidc_request_token",
    "ARM_OIDC_REQUEST_TOKEN",
    "ACTIONS_ID_TOKEN_REQUEST_TOKEN",
  );
  const url = new URL(request);
  url.searchParams.set("audience", "api://AzureADTokenExchange");
  const answer = await sendRequest({
    method: "GET",
    url: url.href,
    signal,
    headers: { Authorization: `Bearer ${bearer}`, Accept: "application/json" },
  });
  if (answer.status !== 200)
    throw answerError("azurerm", "getting a federated token", answer, [bearer]);
  const { value } = JSON.parse(answer.body.toString("utf8")) as { readonly value?: string };
  return value ?? "";
}

async function cliToken(
  resource: string,
  { directory, env }: OpenBackendOptions,
  signal: AbortSignal | undefined,
): Promise<Token> {
  const words = ["account", "get-access-token", "--output", "json", "--resource", resource];
  try {
    const { stdout } = await promisify(execFile)("az", words, {
      cwd: directory,
      env,
      timeout: CLI_MS,
      ...(signal !== undefined && { signal }),
    });
    const { accessToken, expires_on: expires } = JSON.parse(stdout) as {
      readonly accessToken: string;
      readonly expires_on?: number;
    };
    return { value: accessToken, expiresMs: (expires ?? 0) * 1000 };
  } catch {
    if (signal?.aborted === true) throw signal.reason;
    throw new TfstateError(
      "TFSTATE_BACKEND_UNAVAILABLE",
      'backend "azurerm": no credentials, and "az account get-access-token" gave none; set ARM_ACCESS_KEY, ARM_SAS_TOKEN or ARM_CLIENT_ID with ARM_CLIENT_SECRET',
    );
  }
}

function tokenOf(text: string): Token {
  const read = JSON.parse(text) as {
    readonly access_token?: string;
    readonly expires_in?: number | string;
  };
  if (read.access_token === undefined)
    throw new TfstateError("TFSTATE_BACKEND_UNAVAILABLE", "azurerm: the answer has no token");
  return {
    value: read.access_token,
    expiresMs: Date.now() + Number(read.expires_in ?? 0) * 1000,
  };
}

/** One token for each resource, until shortly before its end. */
function kept(tokens: TokenFor): (resource: string, call: BackendCall) => Promise<string> {
  const known = new Map<string, Token>();
  return async (resource, call) => {
    let token = known.get(resource);
    if (token === undefined || token.expiresMs - EARLY_MS < Date.now()) {
      token = await tokens(resource, call);
      known.set(resource, token);
    }
    return token.value;
  };
}

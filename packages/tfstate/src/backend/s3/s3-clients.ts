import { readFileSync } from "node:fs";
import type { Agent } from "node:https";
import { resolve } from "node:path";
import type { DynamoDBClient, DynamoDBClientConfig } from "@aws-sdk/client-dynamodb";
import type { S3Client, S3ClientConfig } from "@aws-sdk/client-s3";
import { TfstateError } from "../../errors.ts";
import type { BackendArguments } from "../backend-arguments.ts";
import { requireNamedFile } from "../named-file.ts";
import type { OpenBackendOptions } from "../open-backend.ts";
import { serverIdentity } from "../server-identity.ts";

type CredentialProvider = Exclude<S3ClientConfig["credentials"], undefined>;

/** Waits of one attempt, in milliseconds: by default the SDK waits without an end. */
const TIMEOUTS = Object.freeze({
  connectionTimeout: 20_000,
  requestTimeout: 60_000,
  throwOnRequestTimeout: true,
  socketTimeout: 60_000,
});

/** The clients of the services that keep states and their locks. */
export interface S3Clients {
  readonly s3: S3Client;
  /** The server that answers for S3; empty: that of AWS. */
  readonly endpoint: string;
  /** Made when it is first used. */
  dynamodb(): Promise<DynamoDBClient>;
}

/** Clients as the arguments, the environment and the shared files of a user configure them. */
export async function createS3Clients(
  configuration: BackendArguments,
  {
    env,
    isIsolated = false,
    filesWithin,
  }: Pick<OpenBackendOptions, "env" | "isIsolated" | "filesWithin">,
): Promise<S3Clients> {
  const { S3Client: Client } = await import("@aws-sdk/client-s3");
  const region = configuration.text("region", "AWS_REGION", "AWS_DEFAULT_REGION");
  const credentials = await credentialsOf(configuration, { env, isIsolated, filesWithin }, region);
  const endpoints = configuration.block("endpoints");
  const retries = configuration.number("max_retries", "AWS_MAX_ATTEMPTS");
  const base = {
    ...(region !== undefined && { region }),
    credentials,
    ...(retries !== undefined && { maxAttempts: retries }),
    ...flagged("useFipsEndpoint", configuration.flag("use_fips_endpoint", "AWS_USE_FIPS_ENDPOINT")),
    ...flagged(
      "useDualstackEndpoint",
      configuration.flag("use_dualstack_endpoint", "AWS_USE_DUALSTACK_ENDPOINT"),
    ),
    requestHandler: { ...TIMEOUTS, ...(await certificates(configuration, filesWithin)) },
  };
  const endpointOf = (service: string, old: string, ...variables: string[]): string | undefined =>
    endpoints?.text(service) ??
    configuration.text(
      old,
      ...variables,
      `AWS_ENDPOINT_URL_${service.toUpperCase()}`,
      "AWS_ENDPOINT_URL",
    );
  const s3Endpoint = endpointOf("s3", "endpoint", "AWS_S3_ENDPOINT");
  const config: S3ClientConfig = {
    ...base,
    ...(s3Endpoint !== undefined && { endpoint: s3Endpoint }),
    forcePathStyle:
      configuration.flag("use_path_style") ?? configuration.flag("force_path_style") ?? false,
    // Servers that only resemble S3 do not know the newer checksums.
    ...(configuration.flag("skip_s3_checksum") === true && {
      requestChecksumCalculation: "WHEN_REQUIRED" as const,
      responseChecksumValidation: "WHEN_REQUIRED" as const,
    }),
  };
  const s3 = new Client(config);
  let dynamodb: Promise<DynamoDBClient> | undefined;
  return {
    s3,
    endpoint:
      s3Endpoint === undefined ? "" : serverIdentity(URL.parse(s3Endpoint)?.href ?? s3Endpoint),
    dynamodb: async () => {
      dynamodb ??= import("@aws-sdk/client-dynamodb").then(({ DynamoDBClient: Table }) => {
        const endpoint = endpointOf("dynamodb", "dynamodb_endpoint", "AWS_DYNAMODB_ENDPOINT");
        const table: DynamoDBClientConfig = {
          ...base,
          ...(endpoint !== undefined && { endpoint }),
        };
        return new Table(table);
      });
      return dynamodb;
    },
  };
}

/** Keys of the arguments or the environment, then profiles and what the SDK finds; with roles over them. */
async function credentialsOf(
  configuration: BackendArguments,
  {
    env,
    isIsolated,
    filesWithin,
  }: Required<Pick<OpenBackendOptions, "env" | "isIsolated">> &
    Pick<OpenBackendOptions, "filesWithin">,
  region: string | undefined,
): Promise<CredentialProvider> {
  const { fromEnv, fromNodeProviderChain, fromTemporaryCredentials, fromTokenFile, fromWebToken } =
    await import("@aws-sdk/credential-providers");
  const stsEndpoint =
    configuration.block("endpoints")?.text("sts") ??
    configuration.text(
      "sts_endpoint",
      "AWS_STS_ENDPOINT",
      "AWS_ENDPOINT_URL_STS",
      "AWS_ENDPOINT_URL",
    );
  const stsRegion = configuration.text("sts_region") ?? region;
  const clientConfig = {
    requestHandler: TIMEOUTS,
    ...(stsRegion !== undefined && { region: stsRegion }),
    ...(stsEndpoint !== undefined && { endpoint: stsEndpoint }),
  };
  const accessKeyId = configuration.text("access_key", "AWS_ACCESS_KEY_ID", "AWS_ACCESS_KEY");
  const secretAccessKey = configuration.text(
    "secret_key",
    "AWS_SECRET_ACCESS_KEY",
    "AWS_SECRET_KEY",
  );
  const sessionToken = configuration.text("token", "AWS_SESSION_TOKEN");
  const profile = configuration.text("profile");
  const web = configuration.block("assume_role_with_web_identity");
  // When it is needed: where a state is can be asked without credentials.
  const refused = (file: string | undefined): CredentialProvider | undefined => {
    try {
      if (file !== undefined) requireNamedFile(file, filesWithin, configuration);
      return undefined;
    } catch (error) {
      return async () => Promise.reject(error);
    }
  };
  let credentials: CredentialProvider;
  if (web !== undefined) {
    const token = web.text("web_identity_token");
    const file = web.text("web_identity_token_file", "AWS_WEB_IDENTITY_TOKEN_FILE");
    const common = {
      roleArn: web.need("role_arn", "AWS_ROLE_ARN"),
      ...optional("roleSessionName", web.text("session_name", "AWS_ROLE_SESSION_NAME")),
      ...optional("policy", web.text("policy")),
      clientConfig,
    };
    if (token !== undefined) {
      credentials = fromWebToken({ ...common, webIdentityToken: token });
    } else if (file === undefined && isIsolated) {
      // The SDK would take the file that the process is given.
      credentials = without(
        'backend "s3": "assume_role_with_web_identity" needs "web_identity_token_file" or, in the variables of the stack, AWS_WEB_IDENTITY_TOKEN_FILE',
      );
    } else {
      credentials =
        refused(file) ?? fromTokenFile({ ...common, ...optional("webIdentityTokenFile", file) });
    }
  } else if (accessKeyId !== undefined && secretAccessKey !== undefined && profile === undefined) {
    credentials = { accessKeyId, secretAccessKey, ...optional("sessionToken", sessionToken) };
  } else if (isIsolated) {
    // What the SDK finds by itself belongs to the process: its variables, the files of its user, programs that they name.
    const webIdentityTokenFile = env["AWS_WEB_IDENTITY_TOKEN_FILE"];
    const roleArn = env["AWS_ROLE_ARN"];
    const isGiven = webIdentityTokenFile !== undefined && roleArn !== undefined;
    credentials =
      isGiven && profile === undefined
        ? (refused(webIdentityTokenFile) ??
          fromTokenFile({ roleArn, webIdentityTokenFile, clientConfig }))
        : without(
            'backend "s3": no credentials: the variables of the stack need AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_ROLE_ARN and AWS_WEB_IDENTITY_TOKEN_FILE; profiles and shared files are not read here',
          );
  } else if (profile === undefined && env["AWS_ACCESS_KEY_ID"] !== undefined) {
    credentials = fromEnv();
  } else {
    const configFile = configuration.texts("shared_config_files")?.[0] ?? env["AWS_CONFIG_FILE"];
    const sharedFile =
      configuration.texts("shared_credentials_files")?.[0] ??
      configuration.text("shared_credentials_file", "AWS_SHARED_CREDENTIALS_FILE");
    credentials = fromNodeProviderChain({
      ...optional("profile", profile ?? env["AWS_PROFILE"]),
      ...optional("configFilepath", homePath(configFile, env)),
      ...optional("filepath", homePath(sharedFile, env)),
      clientConfig,
    });
  }
  const role = configuration.block("assume_role") ?? oldRole(configuration);
  if (role === undefined) return credentials;
  const arns = role.texts("policy_arns");
  const tags = role.map("tags");
  const transitive = role.texts("transitive_tag_keys");
  const duration = role.text("duration");
  return fromTemporaryCredentials({
    masterCredentials: credentials,
    clientConfig,
    params: {
      RoleArn: role.need("role_arn"),
      RoleSessionName: role.text("session_name") ?? "stackwright",
      ...optional("ExternalId", role.text("external_id")),
      ...optional("Policy", role.text("policy")),
      ...optional("SourceIdentity", role.text("source_identity")),
      ...(duration !== undefined && { DurationSeconds: secondsOf(duration, role) }),
      ...(arns !== undefined && { PolicyArns: arns.map((arn) => ({ arn })) }),
      ...(tags !== undefined && {
        Tags: Object.entries(tags).map(([Key, Value]) => ({ Key, Value })),
      }),
      ...(transitive !== undefined && { TransitiveTagKeys: [...transitive] }),
    },
  });
}

/** Credentials that are missing only when they are needed: where a state is can be asked without them. */
function without(problem: string): CredentialProvider {
  return async () => Promise.reject(new TfstateError("TFSTATE_BACKEND_INVALID", problem));
}

/** The arguments of releases before 1.6, which name a role among the other arguments. */
function oldRole(configuration: BackendArguments): BackendArguments | undefined {
  return configuration.text("role_arn") === undefined ? undefined : configuration;
}

async function certificates(
  configuration: BackendArguments,
  filesWithin: readonly string[] | undefined,
): Promise<{ httpsAgent?: Agent }> {
  const file = configuration.text("custom_ca_bundle", "AWS_CA_BUNDLE");
  const insecure = configuration.flag("insecure");
  if (file === undefined && insecure !== true) return {};
  if (file !== undefined) requireNamedFile(file, filesWithin, configuration);
  const https = await import("node:https");
  const httpsAgent = new https.Agent({
    ...(file !== undefined && { ca: readFileSync(file) }),
    ...(insecure === true && { rejectUnauthorized: false }),
  });
  return { httpsAgent };
}

function secondsOf(text: string, role: BackendArguments): number {
  const units: Readonly<Record<string, number>> = { h: 3_600, m: 60, s: 1 };
  const parts = [...text.matchAll(/(\d+(?:\.\d+)?)([hms])/g)];
  if (parts.map(([part]) => part).join("") !== text) {
    throw role.invalid(`"${text}" is not a valid duration: use a form such as 1h30m`);
  }
  return parts.reduce(
    (sum, [, amount, unit = "s"]) => sum + Number(amount) * (units[unit] ?? 0),
    0,
  );
}

function homePath(path: string | undefined, env: NodeJS.ProcessEnv): string | undefined {
  if (path === undefined || path === "") return undefined;
  return path.startsWith("~/") ? resolve(env["HOME"] ?? "", path.slice(2)) : path;
}

function optional<Name extends string>(
  name: Name,
  value: string | undefined,
): Partial<Record<Name, string>> {
  return value === undefined ? {} : ({ [name]: value } as Record<Name, string>);
}

function flagged<Name extends string>(
  name: Name,
  value: boolean | undefined,
): Partial<Record<Name, boolean>> {
  return value === undefined ? {} : ({ [name]: value } as Record<Name, boolean>);
}

import { join } from "node:path";
import { EngineError } from "@stackwright/core/errors";
import type { LockFile, ProviderAddress, ProviderRequirement } from "@stackwright/provider-source";
import type { BlobStore } from "@stackwright/storage/blob";
import { TfpluginError } from "@stackwright/tfplugin";
import {
  type CliConfiguration,
  EMPTY_CLI_CONFIGURATION,
  type InstalledProvider,
  installProviders,
} from "@stackwright/tfplugin/install";
import { accountProviders } from "./account-providers.ts";
import type { ExecutionJob } from "./execution-job.ts";
import type { ExecutionHost } from "./executor.ts";
import { refusedVersions } from "./require-usable-providers.ts";

interface OwnProviderParts {
  readonly job: Pick<ExecutionJob, "ownHosts" | "providersFolder" | "stack">;
  readonly host: Pick<ExecutionHost, "readRegistry">;
  readonly blobs: BlobStore;
  readonly requirements: readonly ProviderRequirement[];
  readonly lock: LockFile;
  /** That of the operator. */
  readonly configuration: Pick<CliConfiguration, "methods">;
  /** The folder of the root module. */
  readonly directory: string;
  readonly env: NodeJS.ProcessEnv;
  readonly signal: AbortSignal;
}

/**
 * Whether a provider is taken from the registry of the account. Where a method of the operator's configuration names it, or its host,
 * to include or to exclude it, that says where it is taken from.
 */
export function isOwnProvider(
  address: ProviderAddress,
  { ownHosts = [] }: Pick<ExecutionJob, "ownHosts">,
  { devOverrides, methods = [] }: Pick<CliConfiguration, "devOverrides" | "methods">,
): boolean {
  if (!ownHosts.includes(address.host) || devOverrides.has(address.toString())) return false;
  return !methods.some(({ include = [], exclude }) =>
    [...include, ...exclude].some(
      (pattern) => !pattern.toString().startsWith("*/") && pattern.matches(address),
    ),
  );
}

/**
 * Installs published providers of the registry of an account, with the rights of the account and checked as those of other registries are.
 * They lie in a folder of the account: a lock file that has the hash of a private provider of another one does not make it available.
 */
export async function installOwnProviders({
  job,
  host,
  blobs,
  requirements,
  lock,
  configuration,
  directory,
  env,
  signal,
}: OwnProviderParts): Promise<ReadonlyMap<string, InstalledProvider>> {
  if (requirements.length === 0) return new Map();
  const { ownHosts = [], providersFolder, stack } = job;
  const registry = accountProviders({ host, blobs, ownHosts, signal });
  const { methods } = configuration;
  const installing = installProviders({
    requirements,
    lock,
    configuration: {
      ...EMPTY_CLI_CONFIGURATION,
      // Where the operator says what providers come from, the files of a configuration are no place of them.
      methods: methods && [{ kind: "direct", include: undefined, exclude: [] }],
    },
    directory: join(providersFolder, "accounts", stack.account),
    cwd: directory,
    env,
    http: { fetch: async (url) => (await registry(url)) ?? refuse(url) },
    signal,
  });
  try {
    return (await installing).providers;
  } catch (error) {
    if (error instanceof TfpluginError && error.code === "TFPLUGIN_PLATFORM_UNAVAILABLE") {
      await requireOffered(requirements, lock, host, signal);
    }
    throw error;
  }
}

/** Says of a locked version that its registry offers no longer why that is; nothing where the registry does not answer, or of one that the account does not see. */
async function requireOffered(
  requirements: readonly ProviderRequirement[],
  lock: LockFile,
  host: Pick<ExecutionHost, "readRegistry">,
  signal: AbortSignal,
): Promise<void> {
  const versions = requirements.flatMap(({ address }) => {
    const version = lock.get(address)?.version;
    return version === undefined
      ? []
      : [{ source: address.toString(), version: version.toString() }];
  });
  const states = ["withdrawn", "quarantined"] as const;
  const refused = await refusedVersions(versions, host, signal, states).catch(() => []);
  if (refused.length > 0) throw new EngineError("ENGINE_PROVIDER_UNAVAILABLE", refused.join("; "));
}

function refuse({ host }: URL): never {
  throw new TfpluginError("TFPLUGIN_REGISTRY_INVALID", `${host} is another host`);
}

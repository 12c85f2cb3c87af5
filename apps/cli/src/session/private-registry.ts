import { readFile } from "node:fs/promises";
import type { OpenStore, ResolvedPrivateVersion } from "@stackwright/core";
import { readCallerKey, signatureKey } from "@stackwright/core";
import { isEngineError } from "@stackwright/core/errors";
import type { ProviderAddress } from "@stackwright/provider-source";
import {
  createKeyRing,
  createRegistry,
  isRegistryError,
  RegistryError,
  type RegistryScope,
} from "@stackwright/registry";
import { createRegistryClient } from "@stackwright/registry/client";
import type { CommandContext } from "../command-context.ts";
import { CommandError } from "../command-error.ts";
import { trustedFor } from "../connection/stored-authorities.ts";

/** A version that is registered. */
export interface RegisteredVersion extends ResolvedPrivateVersion {
  readonly providerId: string;
}

/** Which version is used. */
export interface UsedVersion {
  /** Of the provider. */
  readonly name: string;
  readonly version: string;
}

/** What a command needs of a registry of private providers, wherever that is. */
export interface PrivateRegistry {
  /** Rejects with `REGISTRY_PROVIDER_NOT_FOUND` and `REGISTRY_VERSION_NOT_FOUND` where there is none. */
  readonly resolve: (
    source: ProviderAddress,
    version: string,
    options?: { readonly signal?: AbortSignal },
  ) => Promise<RegisteredVersion>;
  readonly recordUsage: (
    use: UsedVersion & { readonly providerId: string },
    user: string,
  ) => Promise<void>;
  /** Versions of a provider that are in use, as far as their use was recorded in the registry. */
  readonly listUsage: (name: string, user: string) => Promise<readonly string[]>;
  readonly deleteUsage: (use: UsedVersion, user: string) => Promise<void>;
}

/**
 * The registry in a store.
 *
 * @param name of the store, for messages
 */
export function storeRegistry(
  { storage, blobs }: Pick<OpenStore, "storage" | "blobs">,
  name: string,
  scope: RegistryScope,
): PrivateRegistry {
  // Nothing that is encrypted is read here.
  const registry = createRegistry({ storage, blobs, keys: createKeyRing([new Uint8Array(32)]) });
  return {
    resolve: async (source, version, options) => {
      try {
        return await registry.resolvePrivateProvider(scope, source, version, options);
      } catch (error) {
        const isMissing =
          isRegistryError(error, "REGISTRY_PROVIDER_NOT_FOUND") ||
          isRegistryError(error, "REGISTRY_VERSION_NOT_FOUND");
        if (!isMissing) throw error;
        const where = `in the registry of the store ${name}, for account ${scope.account} and region ${scope.region}`;
        const text = `${error.message} ${where}; --registry or STACKWRIGHT_REGISTRY names another registry`;
        throw new RegistryError(error.code, text, { cause: error });
      }
    },
    recordUsage: async (use, user) => registry.recordUsage(scope, use, user),
    listUsage: async (name, user) => {
      const { providerId } = await registry.showProvider(scope, { name });
      const uses = await registry.listUsage(scope, providerId);
      return uses.filter((use) => use.user === user).map(({ version }) => version);
    },
    deleteUsage: async ({ name, version }, user) => {
      const { providerId } = await registry.showProvider(scope, { name });
      await registry.deleteUsage(scope, { providerId, version, user });
    },
  };
}

/** Long enough for a restart of the registry, and no longer, as the user waits. */
const DEADLINE_MS = 15_000;

/** The variables with the credentials for a registry elsewhere. */
const VARIABLES = {
  file: "STACKWRIGHT_REGISTRY_CREDENTIALS",
  accessKey: "STACKWRIGHT_REGISTRY_ACCESS_KEY",
  secretKey: "STACKWRIGHT_REGISTRY_SECRET_KEY",
} as const;

/**
 * The registry at an address, asked with the access key that the environment has or names a file for. Which account is
 * meant follows from the key.
 */
export async function remoteRegistry(
  url: string,
  { env, directory }: Pick<CommandContext, "env" | "directory">,
): Promise<PrivateRegistry> {
  const { STACKWRIGHT_CA_FILE: named } = env;
  const client = await usable(url, async () => {
    const file = env[VARIABLES.file];
    const place =
      file === undefined || file === ""
        ? { accessKeyVariable: VARIABLES.accessKey, secretKeyVariable: VARIABLES.secretKey }
        : { file };
    const ca =
      named !== undefined && named !== ""
        ? await readFile(named, "utf8")
        : await trustedFor(new URL(url).hostname, env);
    return createRegistryClient({
      url,
      key: signatureKey(await readCallerKey(place, { env, directory }), "registries"),
      deadlineMs: DEADLINE_MS,
      ...(ca !== undefined && { ca }),
    });
  });
  return {
    resolve: async (source, version, options) =>
      client.resolvePrivateProvider(source, version, options),
    recordUsage: async (use, user) => ifSupported(client.recordUsage(use, user)),
    listUsage: async (name, user) => (await ifSupported(client.listUsage(name, user))) ?? [],
    deleteUsage: async (use, user) => ifSupported(client.deleteUsage(use, user)),
  };
}

/** A registry that only has the official API keeps no uses, and is as good without. */
async function ifSupported<Answer>(reply: Promise<Answer>): Promise<Answer | undefined> {
  try {
    return await reply;
  } catch (error) {
    if (!isRegistryError(error, "REGISTRY_NOT_FOUND")) throw error;
    return undefined;
  }
}

async function usable<Result>(url: string, make: () => Promise<Result>): Promise<Result> {
  try {
    return await make();
  } catch (error) {
    const known =
      isEngineError(error, "ENGINE_CONFIG_INVALID") ||
      isRegistryError(error, "REGISTRY_INVALID_FIELD");
    if (!known) throw error;
    throw new CommandError(`The registry ${shown(url)} cannot be used: ${error.message}.`, {
      cause: error,
      advice: `Its access key is in ${VARIABLES.accessKey} and ${VARIABLES.secretKey}, or in a file of JSON (accessKey, secretKey) that ${VARIABLES.file} names.`,
    });
  }
}

/** An address as it may be shown: it may contain a password. */
function shown(url: string): string {
  return `"${url.replace(/\/\/[^/]*@/, "//...@")}"`;
}

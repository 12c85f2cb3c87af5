import type { StackReference } from "@stackwright/core";
import { EngineError, isEngineError } from "@stackwright/core/errors";
import type { PublishedProviders } from "@stackwright/registry/terraform";
import type { StorageBackend } from "@stackwright/storage";
import type {
  RegisteredPackage,
  RegisteredProvider,
  RegistryAnswer,
  RegistryQuery,
} from "../domain/registry-query.ts";
import { moduleVersions } from "../modules/module-versions.ts";
import { type FindStanding, standingOfSource } from "../upstream/provider-standing.ts";

/** Finds a version of a private provider of an account. */
export type FindProvider = (
  account: string,
  source: string,
  version: string,
) => Promise<RegisteredProvider>;

interface ReadingParts {
  readonly storage: StorageBackend;
  /** @default there are none */
  readonly publishedProviders?: PublishedProviders | undefined;
  /** @default no version of a provider is known */
  readonly findStanding?: FindStanding | undefined;
  /** Absent where the server has no table of functions. */
  readonly findProvider?: FindProvider | undefined;
}

/** Characters of a reason that a run is shown. */
const MAX_REASON = 1_000;

/**
 * What the registries of an account have, for a run of one of its stacks. What another account has and does not
 * show is not there. `ENGINE_PROVIDER_UNAVAILABLE` for a private provider that is not registered, or whose function the server does not
 * call.
 */
export async function readRegistry(
  { storage, findProvider, publishedProviders, findStanding }: ReadingParts,
  { account }: StackReference,
  query: RegistryQuery,
): Promise<RegistryAnswer> {
  const none = { versions: [], withdrawn: [] };
  if (query.kind === "provider") {
    const { source, version } = query;
    return { ...none, provider: await registered(findProvider, account, source, version) };
  }
  if (query.kind === "published") {
    const found = (await publishedProviders?.versions(account, query)) ?? [];
    return { ...none, published: found.map(({ version, protocols }) => ({ version, protocols })) };
  }
  if (query.kind === "package") {
    const found = await packageOf(publishedProviders, account, query);
    return { ...none, ...(found !== undefined && { package: found }) };
  }
  if (query.kind === "standing") {
    const standing = await Promise.all(
      query.providers.map(async (one) => {
        const found = await standingOfSource(findStanding, account, one);
        return { ...found, reason: found.reason.slice(0, MAX_REASON) };
      }),
    );
    return { ...none, standing };
  }
  const { namespace, name, system } = query;
  const all = await moduleVersions(storage, account, { namespace, name, system });
  return {
    versions: all
      .filter(({ withdrawnAtMs }) => withdrawnAtMs === 0n)
      .map(({ version, archiveSha256 }) => ({ version, archiveSha256 })),
    withdrawn: all
      .filter(({ withdrawnAtMs }) => withdrawnAtMs !== 0n)
      .map(({ version, withdrawnReason }) => ({
        version,
        reason: withdrawnReason.slice(0, MAX_REASON),
      })),
  };
}

async function packageOf(
  providers: PublishedProviders | undefined,
  account: string,
  query: Extract<RegistryQuery, { kind: "package" }>,
): Promise<RegisteredPackage | undefined> {
  const { version, platform } = query;
  const found = await providers?.package(account, query, version, platform);
  if (found === undefined) return undefined;
  const { protocols, filename, sha256: archiveSha256, size, signingKeys } = found;
  return {
    protocols,
    filename,
    archiveSha256,
    size,
    checksums: Buffer.from(found.checksums).toString("base64"),
    signature: Buffer.from(found.signature).toString("base64"),
    signingKeys: signingKeys.map(({ keyId, asciiArmor }) => ({ keyId, asciiArmor })),
  };
}

async function registered(
  find: FindProvider | undefined,
  account: string,
  source: string,
  version: string,
): Promise<RegisteredProvider> {
  const refused = (why: string, cause?: unknown): EngineError =>
    new EngineError(
      "ENGINE_PROVIDER_UNAVAILABLE",
      `the private provider ${source} ${version} is not available: ${why}`,
      { cause },
    );
  if (find === undefined) throw refused("the server has no table of functions (--functions)");
  try {
    return await find(account, source, version);
  } catch (error) {
    if (isEngineError(error)) throw error;
    throw refused(error instanceof Error ? error.message : String(error), error);
  }
}

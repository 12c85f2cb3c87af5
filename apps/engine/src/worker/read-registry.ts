import type { StackReference } from "@stackwright/core";
import { EngineError, isEngineError } from "@stackwright/core/errors";
import type { StorageBackend } from "@stackwright/storage";
import type {
  RegisteredProvider,
  RegistryAnswer,
  RegistryQuery,
} from "../domain/registry-query.ts";
import { moduleVersions } from "../modules/module-versions.ts";

/** Finds a version of a private provider of an account. */
export type FindProvider = (
  account: string,
  source: string,
  version: string,
) => Promise<RegisteredProvider>;

interface ReadingParts {
  readonly storage: StorageBackend;
  /** Absent where the server has no table of functions. */
  readonly findProvider?: FindProvider | undefined;
}

/** Characters of a reason that a run is shown. */
const MAX_REASON = 1_000;

/**
 * What the registries of an account have, for a run of one of its stacks. `ENGINE_PROVIDER_UNAVAILABLE` for a private provider that is not
 * registered, or whose function the server does not call.
 */
export async function readRegistry(
  { storage, findProvider }: ReadingParts,
  { account }: StackReference,
  query: RegistryQuery,
): Promise<RegistryAnswer> {
  if (query.kind === "provider") {
    const { source, version } = query;
    const provider = await registered(findProvider, account, source, version);
    return { versions: [], withdrawn: [], provider };
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

import { ProviderAddress, requireExactVersion, type Version } from "@stackwright/provider-source";
import type { CallOptions } from "@stackwright/storage";
import { RegistryError } from "../errors.ts";
import type { RegistryParts } from "./parts.ts";
import { readProvider } from "./providers.ts";
import { type RegistryScope, scopeTenancy } from "./scope.ts";
import { readVersion } from "./versions.ts";

/** A private provider that a template asks for, found. */
export interface ResolvedPrivateProvider {
  readonly address: ProviderAddress;
  readonly version: Version;
  readonly providerId: string;
  /** Stays the same for as long as the version exists; another one of the same number has another. */
  readonly versionId: string;
  readonly functionUrn: string;
  readonly agencyUrn: string;
  readonly agencyName: string;
}

/**
 * The address of a private provider from what a template has in `source`, or `undefined` where that
 * names something else. Letters are folded as the command folds them, in every part: the registry
 * stores lower case only (seed 003). What the command refuses is `undefined` too.
 */
export function privateProviderAddress(source: string): ProviderAddress | undefined {
  try {
    const address = ProviderAddress.parse(source);
    const usable = address.kind === "private" && address.commandObjection === undefined;
    return usable ? address : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Finds what a template asks for. Throws `PROVIDER_SOURCE_EXACT_VERSION_REQUIRED` for anything but one
 * exact version, as nothing else can be given for private providers (seed 003);
 * `REGISTRY_INVALID_FIELD` for a source that is not that of a private provider;
 * `REGISTRY_PROVIDER_NOT_FOUND`, `REGISTRY_VERSION_NOT_FOUND`.
 */
export async function resolvePrivateProvider(
  parts: RegistryParts,
  scope: RegistryScope,
  source: string | ProviderAddress,
  version: string,
  options: CallOptions = {},
): Promise<ResolvedPrivateProvider> {
  const address = typeof source === "string" ? privateProviderAddress(source) : source;
  if (address?.kind !== "private") {
    throw new RegistryError(
      "REGISTRY_INVALID_FIELD",
      `"${String(source).slice(0, 200)}" is not the source of a private provider`,
      { details: { field: "source", problem: "pattern" } },
    );
  }
  const exact = requireExactVersion(address, version);
  const tenancy = scopeTenancy(scope);
  const name = address.type;
  const { value: provider } = await readProvider(parts, tenancy, { name }, options);
  const at = { name, version: exact.toString(), providerId: provider.providerId };
  const { value: found } = await readVersion(parts, tenancy, at, options);
  return {
    address,
    version: exact,
    providerId: provider.providerId,
    versionId: found.versionId,
    functionUrn: found.functionUrn,
    agencyUrn: provider.agencyUrn,
    agencyName: provider.agencyName,
  };
}

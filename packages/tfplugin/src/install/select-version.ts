import {
  type LockFile,
  type ProviderRequirement,
  type Version,
  VersionConstraints,
} from "@stackwright/provider-source";
import { TfpluginError } from "../errors.ts";
import { findVersions, type ScopedInstallationSource } from "./sources.ts";

/** One requirement for each provider that can be installed: with all constraints, in the order of their first mention. */
export function mergeRequirements(
  requirements: readonly ProviderRequirement[],
): readonly ProviderRequirement[] {
  const merged = new Map<string, ProviderRequirement>();
  for (const { address, constraints } of requirements) {
    if (address.kind === "builtin") continue;
    const key = address.toString();
    const former = merged.get(key)?.constraints ?? VersionConstraints.any;
    merged.set(key, { address, constraints: VersionConstraints.intersection(former, constraints) });
  }
  return [...merged.values()];
}

/**
 * The version that is used: the locked one, else the newest that is allowed. `TFPLUGIN_LOCK_CONFLICT` where the locked one is
 * not allowed, `TFPLUGIN_PROVIDER_UNKNOWN`, `TFPLUGIN_VERSION_UNAVAILABLE`.
 */
export async function selectVersion(
  { address, constraints }: ProviderRequirement,
  lock: LockFile,
  sources: readonly ScopedInstallationSource[],
  signal: AbortSignal,
): Promise<Version> {
  const version =
    lock.get(address)?.version ?? (await newestVersion({ address, constraints }, sources, signal));
  if (constraints.allows(version)) return version;
  const text = `${address.toDisplay()} is locked to ${version.toString()}, which ${constraints.toString()} does not allow`;
  throw new TfpluginError("TFPLUGIN_LOCK_CONFLICT", text, { provider: address.toString() });
}

async function newestVersion(
  { address, constraints }: ProviderRequirement,
  sources: readonly ScopedInstallationSource[],
  signal: AbortSignal,
): Promise<Version> {
  const found = await findVersions(address, sources, signal);
  const versions = [...found.values()].map(({ version }) => version);
  const newest = constraints.newestMatching(versions);
  if (newest !== undefined) return newest;
  const some = versions.slice(-10).map(String).join(", ");
  const text = `no version of ${address.toDisplay()} is allowed by ${constraints.toString()}; there are ${some}`;
  throw new TfpluginError("TFPLUGIN_VERSION_UNAVAILABLE", text, { provider: address.toString() });
}

import {
  type LockFile,
  Platform,
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
  requirement: ProviderRequirement,
  sources: readonly ScopedInstallationSource[],
  signal: AbortSignal,
): Promise<Version> {
  const { address, constraints } = requirement;
  const { versions, isKnown, asked } = await findVersions(address, sources, signal);
  const newest = constraints.newestMatching(versions);
  if (newest !== undefined) return newest;
  await requireNotGone(requirement, sources, signal);
  const provider = address.toString();
  const name = address.toDisplay();
  if (!isKnown) {
    const where =
      asked.length === 0 ? "no source is allowed for it" : `not in ${asked.join(", nor in ")}`;
    const text = `there is no provider ${name}: ${where}`;
    throw new TfpluginError("TFPLUGIN_PROVIDER_UNKNOWN", text, { provider });
  }
  const places = asked.join(" or ");
  const some = versions.slice(-10).map(String).join(", ");
  const text =
    versions.length === 0
      ? `no version of ${name} is offered by ${places}`
      : `no version of ${name} is allowed by ${constraints.toString()}; there are ${some} in ${places}`;
  throw new TfpluginError("TFPLUGIN_VERSION_UNAVAILABLE", text, { provider });
}

/** Lists do not have what was given up. Where one version alone is allowed, its source can say why it is missing. */
async function requireNotGone(
  { address, constraints }: ProviderRequirement,
  sources: readonly ScopedInstallationSource[],
  signal: AbortSignal,
): Promise<void> {
  const version = constraints.exactVersion;
  if (version === undefined) return;
  const id = { address, version, platform: Platform.ofNode() };
  for (const { source, mayHave } of sources) {
    if (!(await mayHave(address))) continue;
    try {
      await source.offer(id, signal);
    } catch (error) {
      signal.throwIfAborted();
      if (TfpluginError.is(error, "TFPLUGIN_VERSION_UNAVAILABLE")) throw error;
    }
  }
}

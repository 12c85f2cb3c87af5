import type { ProviderHealth as HealthMessage } from "@stackwright/proto/stackwright";
import { type CallOptions, isStorageError, type Tenancy, WILDCARD } from "@stackwright/storage";
import { checkFunctionUrn } from "./function-urn.ts";
import { HEALTH_KIND, VERSION_KIND } from "./kinds.ts";
import { type PrivateProviderVersion, versionOf } from "./model.ts";
import type { RegistryParts } from "./parts.ts";
import type { RecordName } from "./record-store.ts";
import { type RegistryScope, scopeTenancy } from "./scope.ts";
import { readVersion, type VersionName } from "./versions.ts";

/** Asks a function whether it answers; the bridge to functions provides one. */
export interface FunctionProbe {
  /** Rejects, with a message free of secrets, when the function does not answer as it should. */
  probe(
    version: Pick<PrivateProviderVersion, "functionUrn"> & RegistryScope,
    options: { readonly signal: AbortSignal },
  ): Promise<{ readonly schemaDigest?: string }>;
}

/** What the last check of a version's function found. */
export interface VersionHealth {
  readonly healthy: boolean;
  readonly checkTimeMs: number;
  /** How long the function took. */
  readonly latencyMs: number;
  /** Failed checks in a row. */
  readonly failures: number;
  readonly problem: string;
  readonly schemaDigest: string;
}

/** What a check of a function found that belongs to no version yet. */
export type FunctionHealth = Pick<VersionHealth, "healthy" | "latencyMs" | "problem">;

const PROBE_TIMEOUT_MS = 30_000;

/** The last known health of a version; `undefined` if it was never checked. */
export async function showHealth(
  parts: RegistryParts,
  scope: RegistryScope,
  at: VersionName,
  options: CallOptions = {},
): Promise<VersionHealth | undefined> {
  const tenancy = scopeTenancy(scope);
  const { value: version } = await readVersion(parts, tenancy, at, options);
  const stored = await parts.records.read(healthAt(tenancy, version.versionId), options);
  return stored && healthOf(stored.value);
}

/** Checks one version now and stores what was found. The function has 30 s to answer. */
export async function checkHealth(
  parts: RegistryParts,
  scope: RegistryScope,
  at: VersionName,
  probe: FunctionProbe,
  options: CallOptions = {},
): Promise<VersionHealth> {
  const { value } = await readVersion(parts, scopeTenancy(scope), at, options);
  return probeVersion(parts, scope, versionOf(value), probe, options);
}

/**
 * Checks a function before a version is made of it, and stores nothing. The function has 30 s to answer.
 *
 * Throws `REGISTRY_INVALID_FIELD`, `REGISTRY_REGION_MISMATCH`.
 */
export async function checkFunction(
  { clock }: Pick<RegistryParts, "clock">,
  scope: RegistryScope,
  functionUrn: string,
  probe: FunctionProbe,
  options: CallOptions = {},
): Promise<FunctionHealth> {
  checkFunctionUrn(functionUrn, scope.region);
  const { healthy, latencyMs, problem } = await ask(
    clock,
    { functionUrn, ...scope },
    probe,
    options,
  );
  return { healthy, latencyMs, problem };
}

/**
 * Checks every version of every account whose last check is older than `maxAgeMs`, one after the other. Several
 * instances share the work, as each reads the time of the last check first. Returns how many it checked.
 */
export async function checkAllHealth(
  parts: RegistryParts,
  probe: FunctionProbe,
  maxAgeMs: number,
  options: CallOptions = {},
): Promise<number> {
  const everywhere = { partition: WILDCARD, peerName: WILDCARD, namespace: WILDCARD };
  const versions = await parts.records.list(VERSION_KIND, everywhere, "", options);
  let checked = 0;
  for (const { value, resource } of versions) {
    options.signal?.throwIfAborted();
    const { tenancy } = resource.id;
    const last = await parts.records.read(healthAt(tenancy, value.versionId), options);
    const age = parts.clock.wallMs() - Number(last?.value.checkTimeMs ?? 0n);
    if (last !== undefined && age < maxAgeMs) continue;
    const scope = { account: tenancy.partition, region: tenancy.namespace };
    await probeVersion(parts, scope, versionOf(value), probe, options);
    checked += 1;
  }
  return checked;
}

async function probeVersion(
  parts: RegistryParts,
  scope: RegistryScope,
  version: PrivateProviderVersion,
  probe: FunctionProbe,
  options: CallOptions,
): Promise<VersionHealth> {
  const at = healthAt(scopeTenancy(scope), version.versionId);
  const found = await ask(parts.clock, { ...version, ...scope }, probe, options);
  const { healthy, latencyMs, problem, schemaDigest } = found;
  const stored = await parts.records.read(at, options);
  const value: HealthMessage = {
    versionId: version.versionId,
    healthy,
    checkTimeMs: BigInt(parts.clock.wallMs()),
    latencyMs: BigInt(latencyMs),
    failures: healthy ? 0 : (stored?.value.failures ?? 0) + 1,
    problem,
    schemaDigest: schemaDigest === "" ? (stored?.value.schemaDigest ?? "") : schemaDigest,
  };
  try {
    await parts.records.write(at, value, stored, options);
  } catch (error) {
    // Another instance checked at the same time; its finding is as good.
    if (!isStorageError(error, "STORAGE_CAS_FAILURE", "STORAGE_WRONG_UID")) throw error;
  }
  return healthOf(value);
}

/** Asks a function, and says what came of it; rejects where the caller gives up alone. */
async function ask(
  clock: RegistryParts["clock"],
  version: Parameters<FunctionProbe["probe"]>[0],
  probe: FunctionProbe,
  { signal: given }: CallOptions,
): Promise<FunctionHealth & Pick<VersionHealth, "schemaDigest">> {
  const timeout = AbortSignal.timeout(PROBE_TIMEOUT_MS);
  const signal = given === undefined ? timeout : AbortSignal.any([given, timeout]);
  const started = clock.monotonicMs();
  let problem = "";
  let schemaDigest = "";
  try {
    ({ schemaDigest = "" } = await probe.probe(version, { signal }));
  } catch (error) {
    given?.throwIfAborted();
    problem = (error instanceof Error ? error.message : String(error)).slice(0, 500);
    if (problem === "") problem = "the function failed without a message";
  }
  const latencyMs = Math.round(clock.monotonicMs() - started);
  return { healthy: problem === "", latencyMs, problem, schemaDigest };
}

function healthAt(tenancy: Tenancy, versionId: string): RecordName<HealthMessage> {
  return { kind: HEALTH_KIND, tenancy, name: versionId };
}

function healthOf(message: HealthMessage): VersionHealth {
  return {
    healthy: message.healthy,
    checkTimeMs: Number(message.checkTimeMs),
    latencyMs: Number(message.latencyMs),
    failures: message.failures,
    problem: message.problem,
    schemaDigest: message.schemaDigest,
  };
}

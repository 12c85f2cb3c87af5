import type { PrivateProviderVersion as VersionMessage } from "@stackwright/proto/stackwright";
import type { BatchOperation, CallOptions, Tenancy } from "@stackwright/storage";
import { RegistryError } from "../errors.ts";
import { checkLength, checkProviderVersion, LENGTHS } from "./fields.ts";
import { checkFunctionUrn } from "./function-urn.ts";
import { providerAt, versionAt } from "./kinds.ts";
import {
  type NewVersion,
  type PrivateProviderVersion,
  type RequestContext,
  versionOf,
} from "./model.ts";
import type { RegistryParts } from "./parts.ts";
import {
  callOptions,
  type Deletion,
  latest,
  type ProviderName,
  readProvider,
} from "./providers.ts";
import { deleteOperation, type StoredRecord, writeOperation } from "./record-store.ts";
import { retryCollisions } from "./retry-collisions.ts";
import { type RegistryScope, scopeTenancy } from "./scope.ts";
import { tombstoneGuards, tombstoneOf } from "./tombstones.ts";
import { passUses } from "./use-turnstile.ts";

// Every creation and deletion of a version replaces the record of its provider in the same batch,
// which keeps the quota exact and makes it collide with a deletion of the provider: a version of a
// provider that is gone cannot come into being.

/** A version, of a provider that the caller may know by id as well as by name. */
export interface VersionName extends ProviderName {
  readonly version: string;
}

/**
 * Adds a version to a provider. Its update time does not change by that. Throws
 * `REGISTRY_PROVIDER_NOT_FOUND`, `REGISTRY_ID_MISMATCH`, `REGISTRY_VERSION_EXISTS`,
 * `REGISTRY_VERSION_RETIRED`, `REGISTRY_QUOTA_EXCEEDED`, `REGISTRY_REGION_MISMATCH`.
 */
export async function createVersion(
  parts: RegistryParts,
  scope: RegistryScope,
  provider: ProviderName,
  input: NewVersion,
  context: RequestContext,
): Promise<PrivateProviderVersion> {
  const tenancy = scopeTenancy(scope);
  checkProviderVersion(input.version);
  checkLength("version_description", input.description ?? "", LENGTHS.version_description);
  checkFunctionUrn(input.functionUrn, scope.region);
  const versionId = parts.newId();
  return parts.mutex.run(`${mutexKey(tenancy)}/${provider.name}`, () =>
    retryCollisions(parts.clock, context.signal, async () => {
      const options = callOptions(context);
      const stored = await readProvider(parts, tenancy, provider, options);
      const before = stored.value;
      const at = versionAt(tenancy, before.providerId, input.version);
      const existing = await parts.records.read(at, options);
      if (existing !== undefined) {
        if (existing.value.versionId === versionId) return versionOf(existing.value);
        throw new RegistryError(
          "REGISTRY_VERSION_EXISTS",
          `version ${input.version} of "${provider.name}" exists already; versions cannot be changed`,
        );
      }
      if (before.versionCount >= parts.policy.maxVersionsPerProvider) {
        throw new RegistryError(
          "REGISTRY_QUOTA_EXCEEDED",
          `"${provider.name}" has ${before.versionCount} versions; no more are allowed`,
        );
      }
      const guards = await tombstoneGuards(parts, tenancy, provider.name, input, options);
      const createTimeMs = latest(parts.clock.wallMs(), before.lastVersionTimeMs);
      const version: VersionMessage = {
        versionId,
        providerId: before.providerId,
        providerName: before.name,
        version: input.version,
        description: input.description ?? "",
        functionUrn: input.functionUrn,
        createTimeMs,
        sequence: before.nextVersionSequence,
      };
      const after = {
        ...before,
        versionCount: before.versionCount + 1,
        nextVersionSequence: before.nextVersionSequence + 1n,
        lastVersionTimeMs: createTimeMs,
      };
      await parts.records.storage.batch(
        [
          writeOperation(providerAt(tenancy, before.name), after, stored),
          writeOperation(at, version, undefined, versionId),
          parts.audit.entry(tenancy, context, {
            action: "version.create",
            target: `${before.name}/${input.version}`,
            details: { versionId, functionUrn: input.functionUrn },
          }),
        ],
        { ...options, guards },
      );
      return versionOf(version);
    }),
  );
}

/** One version. Throws `REGISTRY_PROVIDER_NOT_FOUND`, `REGISTRY_ID_MISMATCH`, `REGISTRY_VERSION_NOT_FOUND`. */
export async function showVersion(
  parts: RegistryParts,
  scope: RegistryScope,
  at: VersionName,
  options: CallOptions = {},
): Promise<PrivateProviderVersion> {
  return versionOf((await readVersion(parts, scopeTenancy(scope), at, options)).value);
}

/**
 * Deletes a version. Throws as {@link showVersion}, and `REGISTRY_VERSION_IN_USE` by policy.
 */
export async function deleteVersion(
  parts: RegistryParts,
  scope: RegistryScope,
  at: VersionName,
  context: RequestContext,
  usersOf: (providerId: string, version: string) => Promise<readonly string[]>,
): Promise<Deletion & { readonly version: PrivateProviderVersion }> {
  const tenancy = scopeTenancy(scope);
  const { policy } = parts;
  return parts.mutex.run(`${mutexKey(tenancy)}/${at.name}`, () =>
    retryCollisions(parts.clock, context.signal, async () => {
      const options = callOptions(context);
      const provider = await readProvider(parts, tenancy, at, options);
      const stored = await readVersion(parts, tenancy, at, options);
      const { providerId, versionId, functionUrn } = stored.value;
      // The turnstile before the users: a use that is recorded later replaces what is read here.
      const turnstile = await passUses(parts, tenancy, providerId, options);
      const usedBy = policy.deleteUsed === "allow" ? [] : await usersOf(providerId, at.version);
      if (usedBy.length > 0 && policy.deleteUsed === "refuse") {
        throw new RegistryError(
          "REGISTRY_VERSION_IN_USE",
          `version ${at.version} of "${at.name}" is in use; delete what uses it first`,
          { details: { users: usedBy.slice(0, 20) } },
        );
      }
      const after = { ...provider.value, versionCount: provider.value.versionCount - 1 };
      const operations: BatchOperation[] = [
        writeOperation(providerAt(tenancy, at.name), after, provider),
        turnstile,
        deleteOperation(stored),
        parts.audit.entry(tenancy, context, {
          action: "version.delete",
          target: `${at.name}/${at.version}`,
          details: { versionId, functionUrn, users: String(usedBy.length) },
        }),
      ];
      if (policy.tombstones) {
        const grave = tombstoneOf(tenancy, stored.value, parts.clock.wallMs());
        const before = await parts.records.read(grave.at, options);
        operations.push(writeOperation(grave.at, grave.tombstone, before));
      }
      await parts.records.storage.batch(operations, options);
      return { usedBy, version: versionOf(stored.value) };
    }),
  );
}

/** The record of a version. */
export async function readVersion(
  parts: RegistryParts,
  tenancy: Tenancy,
  at: VersionName,
  options: CallOptions = {},
): Promise<StoredRecord<VersionMessage>> {
  checkProviderVersion(at.version);
  const provider = await readProvider(parts, tenancy, at, options);
  const stored = await parts.records.read(
    versionAt(tenancy, provider.value.providerId, at.version),
    options,
  );
  if (stored === undefined) {
    throw new RegistryError(
      "REGISTRY_VERSION_NOT_FOUND",
      `"${at.name}" has no version ${at.version}`,
    );
  }
  return stored;
}

function mutexKey(tenancy: Tenancy): string {
  return `${tenancy.partition}/${tenancy.namespace}`;
}

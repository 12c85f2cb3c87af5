import type {
  ProviderAccount,
  PrivateProvider as ProviderMessage,
  PrivateProviderVersion as VersionMessage,
} from "@stackwright/proto/stackwright";
import type { BatchOperation, CallOptions, Tenancy } from "@stackwright/storage";
import { invalidField, RegistryError } from "../errors.ts";
import {
  checkAgencies,
  checkIdMatches,
  checkLength,
  checkProviderId,
  checkProviderName,
  checkProviderVersion,
  LENGTHS,
} from "./fields.ts";
import { checkFunctionUrn } from "./function-urn.ts";
import { accountAt, providerAt, providerEntryAt, versionAt } from "./kinds.ts";
import {
  type NewProvider,
  type PrivateProvider,
  providerOf,
  type RequestContext,
} from "./model.ts";
import type { RegistryParts } from "./parts.ts";
import { deleteOperation, type StoredRecord, writeOperation } from "./record-store.ts";
import { retryCollisions } from "./retry-collisions.ts";
import { type RegistryScope, scopeTenancy } from "./scope.ts";
import { tombstoneGuards, tombstoneOf } from "./tombstones.ts";
import { passUses } from "./use-turnstile.ts";

// Every creation and deletion of a provider replaces the record of its account in the same batch:
//
//   account.provider_count   = providers that exist
//   account.next_sequence    > every sequence given out
//   account.last_create_time >= every creation time given out
//
// So the quota holds exactly, sequences are unique, and the order of sequences is the order of creation times, with any
// number of instances on the store and any difference of their clocks.

/** A provider that the caller may know by id as well as by name. */
export interface ProviderName {
  readonly name: string;
  /** Refuses another provider of the same name (`REGISTRY_ID_MISMATCH`). */
  readonly providerId?: string | undefined;
}

/**
 * Creates a provider, with a first version if one is given, in one step.
 *
 * Throws `REGISTRY_INVALID_FIELD`, `REGISTRY_REGION_MISMATCH`, `REGISTRY_PROVIDER_EXISTS`,
 * `REGISTRY_QUOTA_EXCEEDED`, `REGISTRY_VERSION_RETIRED`.
 */
export async function createProvider(
  parts: RegistryParts,
  scope: RegistryScope,
  input: NewProvider,
  context: RequestContext,
): Promise<PrivateProvider> {
  const tenancy = scopeTenancy(scope);
  const first = checkNewProvider(input, scope);
  const providerId = parts.newId();
  const versionId = parts.newId();

  const attempt = async (): Promise<PrivateProvider> => {
    const options = callOptions(context);
    const [existing, account] = await Promise.all([
      parts.records.read(providerAt(tenancy, input.name), options),
      parts.records.read(accountAt(tenancy), options),
    ]);
    if (existing !== undefined) {
      // The answer to our own write was lost.
      if (existing.value.providerId === providerId) return providerOf(existing.value);
      throw new RegistryError(
        "REGISTRY_PROVIDER_EXISTS",
        `a private provider with the name "${input.name}" exists already`,
      );
    }
    const before = account?.value ?? EMPTY_ACCOUNT;
    if (before.providerCount >= BigInt(parts.policy.maxProviders)) {
      throw new RegistryError(
        "REGISTRY_QUOTA_EXCEEDED",
        `the account has ${before.providerCount} private providers; no more are allowed`,
      );
    }
    if (first !== undefined && parts.policy.maxVersionsPerProvider < 1) {
      throw new RegistryError("REGISTRY_QUOTA_EXCEEDED", "no versions are allowed");
    }
    const createTimeMs = latest(parts.clock.wallMs(), before.lastCreateTimeMs);
    const provider: ProviderMessage = {
      providerId,
      name: input.name,
      description: input.description ?? "",
      agencyUrn: input.agencyUrn ?? "",
      agencyName: input.agencyName ?? "",
      createTimeMs,
      updateTimeMs: createTimeMs,
      sequence: before.nextSequence,
      versionCount: first === undefined ? 0 : 1,
      nextVersionSequence: first === undefined ? 0n : 1n,
      lastVersionTimeMs: first === undefined ? 0n : createTimeMs,
    };
    const operations: BatchOperation[] = [
      writeOperation(providerAt(tenancy, input.name), provider, undefined, providerId),
      writeOperation(providerEntryAt(tenancy, provider.sequence), provider, undefined, providerId),
      writeOperation(
        accountAt(tenancy),
        {
          providerCount: before.providerCount + 1n,
          nextSequence: before.nextSequence + 1n,
          lastCreateTimeMs: createTimeMs,
        },
        account,
      ),
    ];
    if (first !== undefined) {
      const version: VersionMessage = {
        versionId,
        providerId,
        providerName: input.name,
        version: first.version,
        description: input.versionDescription ?? "",
        functionUrn: first.functionUrn,
        createTimeMs,
        sequence: 0n,
      };
      operations.push(
        writeOperation(
          versionAt(tenancy, providerId, first.version),
          version,
          undefined,
          versionId,
        ),
      );
    }
    operations.push(
      parts.audit.entry(tenancy, context, {
        action: "provider.create",
        target: input.name,
        details: { providerId, ...(first === undefined ? {} : { version: first.version }) },
      }),
    );
    const guards =
      first === undefined ? [] : await tombstoneGuards(parts, tenancy, input.name, first, options);
    await parts.records.storage.batch(operations, { ...options, guards });
    return providerOf(provider);
  };
  return parts.mutex.run(mutexKey(tenancy), () =>
    retryCollisions(parts.clock, context.signal, attempt),
  );
}

/** One provider. Throws `REGISTRY_PROVIDER_NOT_FOUND`, `REGISTRY_ID_MISMATCH`. */
export async function showProvider(
  parts: RegistryParts,
  scope: RegistryScope,
  at: ProviderName,
  options: CallOptions = {},
): Promise<PrivateProvider> {
  return providerOf((await readProvider(parts, scopeTenancy(scope), at, options)).value);
}

/**
 * Sets the description. The same text again is an update too and moves the time of it. Throws
 * `REGISTRY_PROVIDER_NOT_FOUND`, `REGISTRY_ID_MISMATCH`, `REGISTRY_NOTHING_TO_UPDATE`.
 */
export async function updateProvider(
  parts: RegistryParts,
  scope: RegistryScope,
  at: ProviderName,
  change: { readonly description?: string | undefined },
  context: RequestContext,
): Promise<PrivateProvider> {
  const { description } = change;
  if (description === undefined) throw new RegistryError("REGISTRY_NOTHING_TO_UPDATE");
  checkLength("provider_description", description, LENGTHS.provider_description);
  const tenancy = scopeTenancy(scope);
  return retryCollisions(parts.clock, context.signal, async () => {
    const options = callOptions(context);
    const stored = await readProvider(parts, tenancy, at, options);
    const entryAt = providerEntryAt(tenancy, stored.value.sequence);
    const entry = await parts.records.read(entryAt, options);
    if (entry === undefined) throw new RegistryError("REGISTRY_PROVIDER_NOT_FOUND");
    const updateTimeMs = latest(parts.clock.wallMs(), stored.value.updateTimeMs);
    const value = { ...stored.value, description, updateTimeMs };
    await parts.records.storage.batch(
      [
        writeOperation(providerAt(tenancy, at.name), value, stored),
        writeOperation(entryAt, value, entry),
        parts.audit.entry(tenancy, context, {
          action: "provider.update",
          target: at.name,
          details: { providerId: value.providerId },
        }),
      ],
      options,
    );
    return providerOf(value);
  });
}

/**
 * What deleting a provider comes to: names of those who use it, if the policy only warns.
 */
export interface Deletion {
  readonly usedBy: readonly string[];
}

/**
 * Deletes a provider and, as the policy allows, its versions: with it they cease to exist at once,
 * their records go a little later. Throws `REGISTRY_PROVIDER_NOT_FOUND`, `REGISTRY_ID_MISMATCH`,
 * `REGISTRY_VERSIONS_EXIST`, `REGISTRY_VERSION_IN_USE`.
 */
export async function deleteProvider(
  parts: RegistryParts,
  scope: RegistryScope,
  at: ProviderName,
  context: RequestContext,
  usersOf: (providerId: string) => Promise<readonly string[]>,
): Promise<Deletion & { readonly providerId: string }> {
  const tenancy = scopeTenancy(scope);
  const { policy, records } = parts;
  const deletion = await parts.mutex.run(mutexKey(tenancy), () =>
    retryCollisions(parts.clock, context.signal, async () => {
      const options = callOptions(context);
      const stored = await readProvider(parts, tenancy, at, options);
      const { providerId, versionCount, sequence } = stored.value;
      if (versionCount > 0 && policy.deleteProvider === "refuse") {
        throw new RegistryError(
          "REGISTRY_VERSIONS_EXIST",
          `"${at.name}" has ${versionCount} versions; delete those first`,
        );
      }
      // Before the users, as in deleteVersion.
      const turnstile = await passUses(parts, tenancy, providerId, options);
      const usedBy = policy.deleteUsed === "allow" ? [] : await usersOf(providerId);
      if (usedBy.length > 0 && policy.deleteUsed === "refuse") {
        throw new RegistryError(
          "REGISTRY_VERSION_IN_USE",
          `versions of "${at.name}" are in use; delete what uses them first`,
          { details: { users: usedBy.slice(0, 20) } },
        );
      }
      if (policy.tombstones && versionCount > 0) await buryVersions(parts, tenancy, stored.value);
      const [entry, account] = await Promise.all([
        records.read(providerEntryAt(tenancy, sequence), options),
        records.read(accountAt(tenancy), options),
      ]);
      if (account === undefined) throw new RegistryError("REGISTRY_PROVIDER_NOT_FOUND");
      const value = { ...account.value, providerCount: account.value.providerCount - 1n };
      await records.storage.batch(
        [
          writeOperation(accountAt(tenancy), value, account),
          turnstile,
          deleteOperation(stored),
          ...(entry === undefined ? [] : [deleteOperation(entry)]),
          parts.audit.entry(tenancy, context, {
            action: "provider.delete",
            target: at.name,
            details: { providerId, versions: String(versionCount) },
          }),
        ],
        options,
      );
      return { usedBy, providerId };
    }),
  );
  return deletion;
}

/** The record of a provider; checks the id if one is given, after the name is known to exist. */
export async function readProvider(
  parts: RegistryParts,
  tenancy: Tenancy,
  { name, providerId }: ProviderName,
  options: CallOptions = {},
): Promise<StoredRecord<ProviderMessage>> {
  checkProviderName(name);
  if (providerId !== undefined) checkProviderId(providerId);
  const stored = await parts.records.read(providerAt(tenancy, name), options);
  if (stored === undefined) {
    throw new RegistryError(
      "REGISTRY_PROVIDER_NOT_FOUND",
      `there is no private provider with the name "${name}"`,
    );
  }
  checkIdMatches(providerId, stored.value.providerId);
  return stored;
}

/** Signal of a request as the store takes it. */
export function callOptions(context: RequestContext): CallOptions {
  return context.signal === undefined ? {} : { signal: context.signal };
}

/** The present, or the newest time given out if the clock is behind that. */
export function latest(nowMs: number, newestMs: bigint): bigint {
  const now = BigInt(Math.floor(nowMs));
  return now > newestMs ? now : newestMs;
}

/** Changes of one account's providers in one process go one after the other. */
function mutexKey(tenancy: Tenancy): string {
  return `${tenancy.partition}/${tenancy.namespace}`;
}

const EMPTY_ACCOUNT: ProviderAccount = {
  providerCount: 0n,
  nextSequence: 0n,
  lastCreateTimeMs: 0n,
};

function checkNewProvider(
  input: NewProvider,
  scope: RegistryScope,
): { version: string; functionUrn: string } | undefined {
  const { version, functionUrn } = input;
  checkProviderName(input.name);
  checkLength("provider_description", input.description ?? "", LENGTHS.provider_description);
  checkLength("version_description", input.versionDescription ?? "", LENGTHS.version_description);
  checkAgencies(input.agencyUrn ?? "", input.agencyName ?? "");
  if (version !== undefined) checkProviderVersion(version);
  if (functionUrn !== undefined) checkFunctionUrn(functionUrn, scope.region);
  if ((version === undefined) !== (functionUrn === undefined)) {
    throw invalidField(
      version === undefined ? "provider_version" : "function_graph_urn",
      "incomplete",
      "provider_version and function_graph_urn have to be given together",
    );
  }
  return version === undefined || functionUrn === undefined ? undefined : { version, functionUrn };
}

/** Leaves a tombstone for every version of a provider that is about to go. */
async function buryVersions(
  parts: RegistryParts,
  tenancy: Tenancy,
  provider: ProviderMessage,
): Promise<void> {
  const versions = await parts.records.list(
    versionAt(tenancy, provider.providerId, "").kind,
    tenancy,
    `${provider.providerId}/`,
  );
  for (const { value } of versions) {
    const { at, tombstone } = tombstoneOf(tenancy, value, parts.clock.wallMs());
    const stored = await parts.records.read(at);
    await parts.records.write(at, tombstone, stored);
  }
}

import type { Clock } from "@stackwright/base/clock";
import type { Logger } from "@stackwright/base/logger";
import type { ProviderAddress } from "@stackwright/provider-source";
import type { BatchOperation, CallOptions, StorageBackend } from "@stackwright/storage";
import type { BlobStore } from "@stackwright/storage/blob";
import type { KeyRing } from "./access/key-ring.ts";
import { SharedSecrets } from "./access/shared-secrets.ts";
import type { AuditEntry, AuditFacts, AuditPage, NumberedAuditEntry } from "./domain/audit-log.ts";
import {
  checkAllHealth,
  checkFunction,
  checkHealth,
  type FunctionHealth,
  type FunctionProbe,
  showHealth,
  type VersionHealth,
} from "./domain/health.ts";
import { listProviders, listVersions, type Page, type PageRequest } from "./domain/listing.ts";
import type {
  NewProvider,
  NewVersion,
  PrivateProvider,
  PrivateProviderVersion,
  RequestContext,
} from "./domain/model.ts";
import { createParts, type RegistryParts } from "./domain/parts.ts";
import type { RegistryPolicy, ResolvedPolicy } from "./domain/policy.ts";
import {
  createProvider,
  type Deletion,
  deleteProvider,
  type ProviderName,
  showProvider,
  updateProvider,
} from "./domain/providers.ts";
import type { OnDamagedRecord } from "./domain/record-store.ts";
import { type ResolvedPrivateProvider, resolvePrivateProvider } from "./domain/resolve.ts";
import { readSchema, writeSchema } from "./domain/schema-cache.ts";
import { type RegistryScope, SYSTEM_TENANCY, scopeTenancy } from "./domain/scope.ts";
import { deleteVersionRecords, sweepDeletedRecords } from "./domain/sweep.ts";
import {
  deleteUsage,
  deleteUsageRecords,
  listUsage,
  type ProviderUsage,
  recordUsage,
  type UseOptions,
} from "./domain/usage.ts";
import { createVersion, deleteVersion, showVersion, type VersionName } from "./domain/versions.ts";
import { RegistryError } from "./errors.ts";

/** Options of {@link createRegistry}. */
export interface RegistryOptions {
  readonly storage: StorageBackend;
  /** Where archives and schemas are stored. Belongs to the caller, as `storage` does. */
  readonly blobs: BlobStore;
  /** Encrypts the secrets that are stored. Instances on one store need the same keys. */
  readonly keys: KeyRing;
  readonly policy?: RegistryPolicy | undefined;
  /** Checks functions; without it nothing is checked. */
  readonly probe?: FunctionProbe | undefined;
  /** @default the process's */
  readonly clock?: Clock | undefined;
  readonly logger?: Logger | undefined;
  /** Makes ids of providers and versions; they must never repeat. @default random UUIDs */
  readonly newId?: (() => string) | undefined;
}

/**
 * The registry of private providers over a store: what the RFS API, the Terraform protocols and the
 * engine have in common. It keeps nothing in memory that decides anything, so any number of instances
 * may work on one store: of two who create the same at once, one succeeds.
 *
 * Methods throw {@link RegistryError}, errors of the store where that fails, and the reason of a signal.
 *
 * Source: seed 003 (CreatePrivateProvider) and the operations around it.
 */
export class Registry {
  readonly blobs: BlobStore;
  readonly secrets: SharedSecrets;
  readonly #parts: RegistryParts;
  readonly #probe: FunctionProbe | undefined;

  constructor(options: RegistryOptions) {
    this.#parts = createParts(options);
    this.#probe = options.probe;
    this.blobs = options.blobs;
    this.secrets = new SharedSecrets(this.#parts.records, options.keys, this.#parts.clock);
  }

  /** Access to the parts for the layers of this package. */
  get parts(): RegistryParts {
    return this.#parts;
  }

  get policy(): ResolvedPolicy {
    return this.#parts.policy;
  }

  /** See {@link createProvider}. */
  async createProvider(
    scope: RegistryScope,
    input: NewProvider,
    context: RequestContext,
  ): Promise<PrivateProvider> {
    return createProvider(this.#parts, scope, input, context);
  }

  async listProviders(
    scope: RegistryScope,
    request: PageRequest = {},
    options?: CallOptions,
  ): Promise<Page<PrivateProvider>> {
    const key = await this.secrets.key("marker");
    return listProviders(this.#parts, scope, request, key, options);
  }

  async showProvider(
    scope: RegistryScope,
    at: ProviderName,
    options?: CallOptions,
  ): Promise<PrivateProvider> {
    return showProvider(this.#parts, scope, at, options);
  }

  async updateProvider(
    scope: RegistryScope,
    at: ProviderName,
    change: { readonly description?: string | undefined },
    context: RequestContext,
  ): Promise<PrivateProvider> {
    return updateProvider(this.#parts, scope, at, change, context);
  }

  /** Deletes a provider; the result names who used it, where the policy lets that happen. */
  async deleteProvider(
    scope: RegistryScope,
    at: ProviderName,
    context: RequestContext,
  ): Promise<Deletion> {
    const usersOf = async (id: string): Promise<readonly string[]> =>
      (await this.listUsage(scope, id)).map(({ user }) => user);
    const { usedBy, providerId } = await deleteProvider(this.#parts, scope, at, context, usersOf);
    await this.#afterwards(async () => {
      await deleteVersionRecords(this.#parts, scopeTenancy(scope), providerId);
      await deleteUsageRecords(this.#parts, scopeTenancy(scope), providerId);
    });
    return { usedBy };
  }

  async createVersion(
    scope: RegistryScope,
    provider: ProviderName,
    input: NewVersion,
    context: RequestContext,
  ): Promise<PrivateProviderVersion> {
    return createVersion(this.#parts, scope, provider, input, context);
  }

  async listVersions(
    scope: RegistryScope,
    provider: ProviderName,
    request: PageRequest = {},
    options?: CallOptions,
  ): Promise<Page<PrivateProviderVersion>> {
    const key = await this.secrets.key("marker");
    return listVersions(this.#parts, scope, provider, request, key, options);
  }

  async showVersion(
    scope: RegistryScope,
    at: VersionName,
    options?: CallOptions,
  ): Promise<PrivateProviderVersion> {
    return showVersion(this.#parts, scope, at, options);
  }

  /** Deletes a version; the result names who used it, where the policy lets that happen. */
  async deleteVersion(
    scope: RegistryScope,
    at: VersionName,
    context: RequestContext,
  ): Promise<Deletion> {
    const usersOf = async (id: string, version: string): Promise<readonly string[]> =>
      (await this.listUsage(scope, id, version)).map(({ user }) => user);
    const deleted = await deleteVersion(this.#parts, scope, at, context, usersOf);
    await this.#afterwards(async () => {
      await deleteUsageRecords(
        this.#parts,
        scopeTenancy(scope),
        deleted.version.providerId,
        at.version,
      );
    });
    return { usedBy: deleted.usedBy };
  }

  /** Finds what a template asks for by `source` and `version`; see {@link resolvePrivateProvider}. */
  async resolvePrivateProvider(
    scope: RegistryScope,
    source: string | ProviderAddress,
    version: string,
    options?: CallOptions,
  ): Promise<ResolvedPrivateProvider> {
    return resolvePrivateProvider(this.#parts, scope, source, version, options);
  }

  /** Records that `user`, a stack for instance, needs a version. */
  async recordUsage(
    scope: RegistryScope,
    at: VersionName,
    user: string,
    options?: UseOptions,
  ): Promise<void> {
    await recordUsage(this.#parts, scope, at, user, options);
  }

  async deleteUsage(
    scope: RegistryScope,
    use: { readonly providerId: string; readonly version: string; readonly user: string },
    options?: UseOptions,
  ): Promise<void> {
    await deleteUsage(this.#parts, scope, use, options);
  }

  /** Where a provider, or one version of it, is used. */
  async listUsage(
    scope: RegistryScope,
    providerId: string,
    version?: string,
    options?: CallOptions,
  ): Promise<readonly ProviderUsage[]> {
    return listUsage(this.#parts, scope, providerId, version, options);
  }

  async showHealth(
    scope: RegistryScope,
    at: VersionName,
    options?: CallOptions,
  ): Promise<VersionHealth | undefined> {
    return showHealth(this.#parts, scope, at, options);
  }

  /** Checks a version's function now. `REGISTRY_NOT_FOUND` without a probe. */
  async checkHealth(
    scope: RegistryScope,
    at: VersionName,
    options?: CallOptions,
  ): Promise<VersionHealth> {
    if (this.#probe === undefined) {
      throw new RegistryError("REGISTRY_NOT_FOUND", "this server does not check functions");
    }
    return checkHealth(this.#parts, scope, at, this.#probe, options);
  }

  /** Checks a function before a version is made of it. `REGISTRY_NOT_FOUND` without a probe. */
  async checkFunction(
    scope: RegistryScope,
    functionUrn: string,
    options?: CallOptions,
  ): Promise<FunctionHealth> {
    if (this.#probe === undefined) {
      throw new RegistryError("REGISTRY_NOT_FOUND", "this server does not check functions");
    }
    return checkFunction(this.#parts, scope, functionUrn, this.#probe, options);
  }

  /** Checks all functions whose last check is older than `maxAgeMs`. */
  async checkAllHealth(maxAgeMs: number, options?: CallOptions): Promise<number> {
    if (this.#probe === undefined) return 0;
    return checkAllHealth(this.#parts, this.#probe, maxAgeMs, options);
  }

  /** The schema kept under a digest of `schemaDigest`. */
  async readSchema(
    scope: RegistryScope,
    digest: string,
    options?: CallOptions,
  ): Promise<Buffer | undefined> {
    return readSchema(this.#parts, this.blobs, scope, digest, options);
  }

  async writeSchema(
    scope: RegistryScope,
    digest: string,
    schema: Uint8Array,
    options?: CallOptions,
  ): Promise<void> {
    await writeSchema(this.#parts, this.blobs, scope, digest, schema, options);
  }

  /** The audit trail of one day (`YYYY-MM-DD`), oldest first. */
  async auditDay(scope: RegistryScope | "system", day: string): Promise<readonly AuditEntry[]> {
    return this.#parts.audit.day(scope === "system" ? SYSTEM_TENANCY : scopeTenancy(scope), day);
  }

  /** What follows an entry of the audit trail, in an order in which nothing appears later before what was read. */
  async auditPage(scope: RegistryScope, page: AuditPage): Promise<readonly NumberedAuditEntry[]> {
    return this.#parts.audit.page(scopeTenancy(scope), page);
  }

  /** Records a refusal; that of an unknown caller in the trail of the system. Never rejects. */
  async auditRefusal(
    scope: RegistryScope | undefined,
    context: RequestContext,
    facts: AuditFacts,
  ): Promise<void> {
    const tenancy = scope === undefined ? SYSTEM_TENANCY : scopeTenancy(scope);
    await this.#parts.audit.refused(tenancy, context, facts);
  }

  /** The operation that records a change, for the batch that makes it. */
  auditEntry(scope: RegistryScope, context: RequestContext, facts: AuditFacts): BatchOperation {
    return this.#parts.audit.entry(scopeTenancy(scope), context, facts);
  }

  /** Records a change outside of the batches of this class. Never rejects. */
  async note(scope: RegistryScope, context: RequestContext, facts: AuditFacts): Promise<void> {
    await this.#parts.audit.note(scopeTenancy(scope), context, facts);
  }

  /**
   * Deletes what crashes left over, and audit entries past their time. A damaged record goes to `onDamaged` and keeps none of the others; without
   * it the first one ends the call.
   */
  async sweep(
    onDamaged?: OnDamagedRecord,
  ): Promise<{ readonly leftovers: number; readonly auditEntries: number }> {
    const leftovers = await sweepDeletedRecords(this.#parts, onDamaged);
    const { auditDays } = this.#parts.policy;
    const auditEntries = await this.#parts.audit.prune(auditDays, onDamaged);
    return { leftovers, auditEntries };
  }

  /** Work after a deletion that a sweep would do too. */
  async #afterwards(task: () => Promise<void>): Promise<void> {
    try {
      await task();
    } catch (error) {
      this.#parts.logger?.warn({ err: error }, "leftovers of a deletion stay until the next sweep");
    }
  }
}

/** Makes a {@link Registry}. */
export function createRegistry(options: RegistryOptions): Registry {
  return new Registry(options);
}

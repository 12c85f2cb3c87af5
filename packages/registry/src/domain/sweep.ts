import { type Tenancy, WILDCARD } from "@stackwright/storage";
import {
  FUNCTION_RELEASE_KIND,
  HEALTH_KIND,
  PROVIDER_KIND,
  USE_KIND,
  VERSION_KIND,
} from "./kinds.ts";
import type { RegistryParts } from "./parts.ts";
import {
  deleteOperation,
  type OnDamagedRecord,
  type RecordKind,
  type StoredRecord,
} from "./record-store.ts";
import { isTurnstile } from "./use-turnstile.ts";

const BATCH = 32;

/** Deletes the version records of a provider that is gone. */
export async function deleteVersionRecords(
  parts: RegistryParts,
  tenancy: Tenancy,
  providerId: string,
): Promise<void> {
  await deleteAll(parts, await parts.records.list(VERSION_KIND, tenancy, `${providerId}/`));
}

/**
 * Deletes the remaining children where an instance stopped between deleting a provider or version and deleting its
 * children. They are no longer reachable, as they are found by ids that no longer exist. Children are listed before
 * their parents, so that those of a parent that is being created are not deleted. Any number of instances may sweep at
 * the same time. Returns how many were deleted. A damaged record is left as it is; where a provider or a version is damaged, its children
 * cannot be known from those of a deleted one, and all of its account and region stay.
 */
export async function sweepDeletedRecords(
  parts: RegistryParts,
  onDamaged?: OnDamagedRecord,
): Promise<number> {
  const damaged = new Set<string>();
  const child = onDamaged;
  const parent: OnDamagedRecord | undefined =
    onDamaged &&
    ((id, reason) => {
      damaged.add(placeOf(id.tenancy));
      onDamaged(id, reason);
    });
  const uses = await everywhere(parts, USE_KIND, child);
  const health = await everywhere(parts, HEALTH_KIND, child);
  const releases = await everywhere(parts, FUNCTION_RELEASE_KIND, child);
  const versions = await everywhere(parts, VERSION_KIND, parent);
  const providers = await everywhere(parts, PROVIDER_KIND, parent);
  const living = new Set(providers.map(({ value }) => value.providerId));
  const reachable = versions.filter(({ value }) => living.has(value.providerId));
  const livingVersions = new Set(reachable.map(({ value }) => value.versionId));
  const orphans: readonly StoredRecord<unknown>[] = [
    ...versions.filter(({ value }) => !living.has(value.providerId)),
    ...uses.filter(({ value }) =>
      isTurnstile(value) ? !living.has(value.providerId) : !livingVersions.has(value.versionId),
    ),
    ...releases.filter(({ resource }) => !livingVersions.has(resource.id.name)),
    ...health.filter(({ value }) => !livingVersions.has(value.versionId)),
  ];
  const left = orphans.filter(({ resource }) => !damaged.has(placeOf(resource.id.tenancy)));
  await deleteAll(parts, left);
  return left.length;
}

async function everywhere<T>(
  parts: RegistryParts,
  kind: RecordKind<T>,
  onDamaged: OnDamagedRecord | undefined,
): Promise<readonly StoredRecord<T>[]> {
  const tenancy = { partition: WILDCARD, peerName: WILDCARD, namespace: WILDCARD };
  return parts.records.list(kind, tenancy, "", { onDamaged });
}

function placeOf({ partition, namespace }: Tenancy): string {
  return `${partition}\0${namespace}`;
}

async function deleteAll(
  parts: RegistryParts,
  records: readonly StoredRecord<unknown>[],
): Promise<void> {
  for (let at = 0; at < records.length; at += BATCH) {
    await parts.records.storage.batch(records.slice(at, at + BATCH).map(deleteOperation));
  }
}

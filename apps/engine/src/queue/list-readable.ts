import type { Logger } from "@stackwright/base/logger";
import type { CallOptions, ResourceId, StorageBackend, Tenancy } from "@stackwright/storage";
import { decodeRecord, type RecordKind } from "../domain/record-kind.ts";

/** Called with each record that is left out, and why. */
type OnDamaged = (id: ResourceId, reason: string) => void;

/** The records of a kind in one place, without those that are damaged: for callers to which such a record means nothing. */
export async function listReadable<M>(
  storage: StorageBackend,
  kind: RecordKind<M>,
  tenancy: Tenancy,
  {
    signal,
    prefix = "",
    onDamaged,
  }: CallOptions & {
    /** What the names begin with. @default anything */
    readonly prefix?: string | undefined;
    readonly onDamaged: OnDamaged;
  },
): Promise<readonly { readonly id: ResourceId; readonly version: string; readonly message: M }[]> {
  const found = await storage.list("strong", kind.type, tenancy, prefix, {
    signal,
    onDamaged: ({ id, reason }) => onDamaged(id, reason),
  });
  return found.flatMap((resource) => {
    try {
      const { id, version } = resource;
      return [{ id, version, message: decodeRecord(kind, resource) }];
    } catch {
      onDamaged(resource.id, "it is of another kind, or cut");
      return [];
    }
  });
}

/** Notes what is left out. */
export function logDamaged(logger: Logger | undefined): OnDamaged {
  return ({ type, name }, reason) =>
    logger?.warn({ kind: type.kind, name, reason }, "a record is damaged");
}

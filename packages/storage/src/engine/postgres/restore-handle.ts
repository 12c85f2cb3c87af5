import { randomUUID } from "node:crypto";
import type { StorageLimits } from "../../capabilities.ts";
import { StorageError } from "../../errors.ts";
import { freezeResource } from "../../freeze.ts";
import type { Resource, ResourceId } from "../../resource.ts";
import type { Restore } from "../../types.ts";
import { checkResource } from "../../validate.ts";
import type { Connections } from "./connections.ts";
import { byteaArray, operationStep, textArray, type WriteStep } from "./rows.ts";
import { toStorageError } from "./server-error.ts";

/** Rows are sent in lots of this many rows or bytes. */
const LOT_ROWS = 256;
const LOT_BYTES = 1024 * 1024;

/** What a restore needs of its backend. */
interface RestoreParts {
  readonly connections: Connections;
  readonly limits: StorageLimits;
  /** Throws when the backend is closed. */
  readonly begin: () => void;
  /** Called when the commit was acknowledged. */
  readonly committed: () => Promise<void>;
}

/** A restore whose rows are staged in a table that nothing else reads. */
export function createRestore({ connections, limits, begin, committed }: RestoreParts): Restore {
  const restore = randomUUID();
  let lot: WriteStep[] = [];
  let lotBytes = 0;
  let staged = 0;
  let over = false;

  const check = (): void => {
    begin();
    if (over) throw new StorageError("STORAGE_INVALID_ARGUMENT", "the restore is over");
  };
  const flush = async (): Promise<void> => {
    const rows = lot;
    lot = [];
    lotBytes = 0;
    if (rows.length === 0) return;
    staged += rows.length;
    await stage(connections, restore, rows);
  };
  const abort = async (): Promise<void> => {
    if (over) return;
    over = true;
    lot = [];
    if (staged === 0) return;
    // What is left behind is removed a day later.
    await connections
      .run("write", (sql) => sql`DELETE FROM staged WHERE restore = ${restore}`)
      .catch(() => undefined);
  };

  return {
    apply: async (resource: Resource) => {
      check();
      checkResource(resource, limits);
      if (resource.version === "") {
        throw new StorageError("STORAGE_INVALID_ARGUMENT", "a restored resource has a version", {
          details: { field: "resource.version" },
        });
      }
      const step = operationStep({ kind: "write", resource: freezeResource(resource) });
      lot.push(step);
      lotBytes += step.body?.length ?? 0;
      if (lot.length >= LOT_ROWS || lotBytes >= LOT_BYTES) await flush();
    },
    commit: async () => {
      check();
      await flush();
      over = true;
      const client = connections.dedicated({ patient: true });
      try {
        await client`DELETE FROM staged WHERE staged_at < now() - interval '1 day'`;
        await client`SELECT commit_restore(${restore}, ${staged})`;
      } catch (error) {
        throw toStorageError(error, "write");
      } finally {
        await client.end({ timeout: 1 }).catch(() => undefined);
      }
      await committed();
    },
    abort,
    [Symbol.asyncDispose]: abort,
  };
}

async function stage(
  connections: Connections,
  restore: string,
  rows: readonly WriteStep[],
): Promise<void> {
  await connections.run("write", (sql) => {
    const texts = (value: (id: ResourceId) => string) =>
      textArray(rows.map((row) => value(row.id)));
    return sql`
      INSERT INTO staged (restore, grp, kind, partition, peer_name, namespace, name, uid, version,
        owner, body)
      SELECT ${restore}, * FROM unnest(
        ${texts((id) => id.type.group)}::text[],
        ${texts((id) => id.type.kind)}::text[],
        ${texts((id) => id.tenancy.partition)}::text[],
        ${texts((id) => id.tenancy.peerName)}::text[],
        ${texts((id) => id.tenancy.namespace)}::text[],
        ${texts((id) => id.name)}::text[],
        ${texts((id) => id.uid)}::text[],
        ${textArray(rows.map((row) => row.expected))}::text[],
        ${byteaArray(rows.map((row) => row.owner))}::bytea[],
        ${byteaArray(rows.map((row) => row.body))}::bytea[])`;
  });
}

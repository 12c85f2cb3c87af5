import type { StorageLimits } from "../../capabilities.ts";
import { ResourceEncoder } from "../../codec.ts";
import { StorageError } from "../../errors.ts";
import type { Restore } from "../../types.ts";
import { checkResource } from "../../validate.ts";
import type { StagedRow } from "./protocol.ts";
import { toWriteRow } from "./rows.ts";
import type { StoreClient } from "./store-client.ts";

/** Rows are sent to the worker in lots of this many rows or bytes. */
const LOT_ROWS = 256;
const LOT_BYTES = 1024 * 1024;

/** What a restore needs of its backend. */
interface RestoreParts {
  readonly client: StoreClient;
  readonly limits: StorageLimits;
  /** Throws when the backend is closed. */
  readonly begin: () => void;
  /** Called in the turn in which the answer to the commit arrives. */
  readonly committed: (epoch: string) => void;
  /** Names the restore to the worker. */
  readonly id: number;
}

/** A restore whose rows are staged by the worker. */
export function createRestore({ client, limits, begin, committed, id }: RestoreParts): Restore {
  let lot: StagedRow[] = [];
  const encoder = new ResourceEncoder();
  let lotBytes = 0;
  let over = false;

  const check = (): void => {
    begin();
    if (over) throw new StorageError("STORAGE_INVALID_ARGUMENT", "the restore is over");
  };
  const flush = async (): Promise<void> => {
    const rows = lot;
    lot = [];
    lotBytes = 0;
    if (rows.length > 0) await client.call("stage", { restore: id, rows });
  };
  const abort = async (): Promise<void> => {
    if (over) return;
    over = true;
    lot = [];
    // Of a store that is gone the staged rows are gone as well.
    await client.call("abortRestore", id).catch(() => undefined);
  };

  return {
    apply: async (resource) => {
      check();
      checkResource(resource, limits);
      if (resource.version === "") {
        throw new StorageError("STORAGE_INVALID_ARGUMENT", "a restored resource has a version", {
          details: { field: "resource.version" },
        });
      }
      const row: StagedRow = toWriteRow(resource, encoder);
      lot.push(row);
      lotBytes += row[4].byteLength;
      if (lot.length >= LOT_ROWS || lotBytes >= LOT_BYTES) await flush();
    },
    commit: async () => {
      check();
      await flush();
      over = true;
      const { epoch } = await client.call("commitRestore", id);
      committed(epoch);
    },
    abort,
    [Symbol.asyncDispose]: abort,
  };
}

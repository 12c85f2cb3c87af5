import { isStorageError } from "../../errors.ts";
import type { Resource } from "../../resource.ts";
import type { BodyRow } from "./protocol.ts";
import { fromBodyRow, isIntact } from "./rows.ts";
import type { WorkerClient } from "./worker-client.ts";

/**
 * The resources of rows. A row that is damaged fails all of them, as a list without it would claim that
 * it does not exist; the error names it, so that it can be written or deleted.
 */
export async function decodeRows(
  client: WorkerClient,
  rows: readonly BodyRow[],
): Promise<readonly Resource[]> {
  try {
    return rows.map(fromBodyRow);
  } catch (error) {
    const damaged = rows.find((row) => !isIntact(row));
    if (damaged === undefined || !isStorageError(error, "STORAGE_CORRUPT")) throw error;
    const { version, checksum } = damaged;
    await client.call("reportDamage", { version, checksum });
    throw error;
  }
}

import type { DamagedResource } from "../../damaged-resource.ts";
import { isStorageError, StorageError } from "../../errors.ts";
import type { BodyRow } from "./protocol.ts";
import { isIntact } from "./rows.ts";
import type { StoreClient } from "./store-client.ts";

/**
 * What rows stand for. A row that is damaged goes to `onDamaged` and is left out; without that it fails all of them, as
 * a list without it would claim that it does not exist. The error names it, so that it can be written or deleted.
 */
export async function decodeRows<R extends BodyRow, T>(
  client: StoreClient,
  rows: readonly R[],
  decode: (row: R) => T,
  onDamaged?: (damaged: DamagedResource) => void,
): Promise<readonly T[]> {
  const decoded: T[] = [];
  for (const row of rows) {
    try {
      decoded.push(decode(row));
    } catch (error) {
      if (isIntact(row) || !isStorageError(error, "STORAGE_CORRUPT")) throw error;
      const { version, checksum, body } = row;
      const named = await nameDamage(client, { version, checksum });
      if (named.details.id === undefined || onDamaged === undefined) throw named;
      onDamaged({ id: named.details.id, version, reason: error.message, body });
    }
  }
  return decoded;
}

/** The error of a damaged row, which only the thread can name. */
async function nameDamage(
  client: StoreClient,
  row: Pick<BodyRow, "version" | "checksum">,
): Promise<StorageError> {
  try {
    await client.call("reportDamage", row);
    return new StorageError("STORAGE_CORRUPT");
  } catch (error) {
    return StorageError.from(error);
  }
}

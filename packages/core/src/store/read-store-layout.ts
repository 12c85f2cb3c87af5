import type { StoreLayout } from "@stackwright/storage";
import type { StoreAddress } from "./store-address.ts";

/**
 * The layout of the tables of a store; undefined for an engine without tables. Changes nothing. Rejects as `openStore` does; `STORAGE_SCHEMA` where a
 * newer release made the tables.
 */
export async function readStoreLayout(address: StoreAddress): Promise<StoreLayout | undefined> {
  if (address.kind === "sqlite") {
    const { readSqliteLayout } = await import("@stackwright/storage/sqlite");
    return readSqliteLayout({ directory: address.directory });
  }
  if (address.kind === "postgres") {
    const { readPostgresLayout } = await import("@stackwright/storage/postgres");
    return readPostgresLayout({ url: address.url });
  }
  return undefined;
}

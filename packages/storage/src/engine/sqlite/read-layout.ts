import type { StoreLayout } from "../../store-layout.ts";
import { openForReading } from "./open-database.ts";
import { checkLayout, MIGRATIONS } from "./schema.ts";

/**
 * The layout of a store in a directory, also beside a process that writes to it. Changes nothing. Rejects with `STORAGE_SCHEMA` where a newer release
 * made it, and as a read-only open does where there is no store.
 */
export async function readSqliteLayout(options: {
  readonly directory: string;
}): Promise<StoreLayout> {
  const database = openForReading(options.directory);
  try {
    return { stored: checkLayout(database), newest: MIGRATIONS.length };
  } finally {
    database.close();
  }
}

import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import postgres from "postgres";
import { checkBody } from "../../checked-body.ts";
import { decodeResource } from "../../codec.ts";
import type { Resource } from "../../resource.ts";
import type { EventTable, EventTableRow } from "./check-events.ts";
import type { Sighting } from "./history.ts";

// Reads the tables of stores by statements of their own, beside the engines and their queries.

const UPSERT = 1;

interface BodyRow {
  readonly version: string;
  readonly body: Uint8Array;
}

interface OperationRow extends BodyRow {
  readonly revision: number | string;
  readonly operation: number;
}

/** The tables of the store in a directory; its process may be at work. */
export function readSqliteTable(directory: string): EventTable {
  using database = closing(new DatabaseSync(join(directory, "store.db"), { readOnly: true }));
  const all = (query: string): unknown[] => database.value.prepare(query).all();
  database.value.exec("BEGIN");
  const [store] = all("SELECT revision, compacted FROM store") as [Record<string, number>];
  const events = all("SELECT revision, operation, version, body FROM event ORDER BY revision");
  const rows = all("SELECT version, body FROM resource");
  return toTable(store, events as OperationRow[], rows as BodyRow[]);
}

/** The tables of the store in a schema; its instances may be at work. */
export async function readPostgresTable(url: string, schema: string): Promise<EventTable> {
  const client = postgres(url, { max: 1, onnotice: () => undefined });
  try {
    return await client.begin("ISOLATION LEVEL REPEATABLE READ READ ONLY", async (sql) => {
      await sql.unsafe(`SET LOCAL search_path TO ${schema}`);
      const [store] = await sql`SELECT revision, compacted FROM store`;
      const events = await sql<OperationRow[]>`
        SELECT revision, operation, version, body FROM event ORDER BY revision`;
      const rows = await sql<BodyRow[]>`SELECT version, body FROM resource`;
      const intact = <T extends BodyRow>(row: T): T => ({ ...row, body: checkBody(row.body) });
      return toTable(store ?? {}, events.map(intact), rows.map(intact));
    });
  } finally {
    await client.end({ timeout: 1 });
  }
}

function toTable(
  store: Readonly<Record<string, unknown>>,
  events: readonly OperationRow[],
  rows: readonly BodyRow[],
): EventTable {
  return {
    revision: Number(store["revision"]),
    compacted: Number(store["compacted"]),
    events: events.map(toEvent),
    stored: new Map(rows.map(decode).map((resource) => [resource.id.name, toSighting(resource)])),
  };
}

function toEvent(row: OperationRow): EventTableRow {
  const resource = decode(row);
  return {
    revision: Number(row.revision),
    operation: row.operation === UPSERT ? "upsert" : "delete",
    key: resource.id.name,
    ...toSighting(resource),
  };
}

function decode({ body, version }: BodyRow): Resource {
  return decodeResource(body, version);
}

function toSighting({ id, version, generation }: Resource): Sighting {
  return { uid: id.uid, version, token: generation };
}

function closing(value: DatabaseSync): Disposable & { readonly value: DatabaseSync } {
  return { value, [Symbol.dispose]: () => value.close() };
}

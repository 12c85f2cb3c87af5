import { and, eq, gte, lt, type SQL, sql } from "drizzle-orm";
import { PgDialect } from "drizzle-orm/pg-core";
import type { Sql } from "postgres";
import type { ResourceFilter } from "../../key.ts";
import { type ResourceId, WILDCARD } from "../../resource.ts";
import type { BodyRow } from "./rows.ts";
import { resource } from "./schema.ts";

const dialect = new PgDialect();

/** The row of one resource. */
export async function readRow(client: Sql, id: ResourceId): Promise<BodyRow | undefined> {
  const { type, tenancy, name } = id;
  const [row] = await client<BodyRow[]>`
    SELECT version, body FROM resource
    WHERE grp = ${type.group} AND kind = ${type.kind} AND partition = ${tenancy.partition}
      AND peer_name = ${tenancy.peerName} AND namespace = ${tenancy.namespace} AND name = ${name}`;
  return row;
}

/** Rows together with the position of the store at the same point in time. */
export interface PositionedRows {
  readonly epoch: string;
  readonly revision: number;
  readonly rows: readonly BodyRow[];
}

interface PositionedRow {
  readonly epoch: string;
  readonly revision: string;
  readonly version: string | null;
  readonly body: Uint8Array | null;
}

/** The rows that a filter selects. */
export async function listRows(client: Sql, filter: ResourceFilter): Promise<readonly BodyRow[]> {
  return runPrepared<BodyRow>(
    client,
    sql`SELECT ${resource.version}, ${resource.body} FROM ${resource} WHERE ${matches(filter)}`,
  );
}

/** The rows that a filter selects, and where in the history they stand. */
export async function listRowsAt(client: Sql, filter: ResourceFilter): Promise<PositionedRows> {
  const found = await runPrepared<PositionedRow>(
    client,
    sql`
      SELECT content_epoch() AS epoch, s.revision, r.version, r.body
      FROM store s LEFT JOIN (SELECT * FROM ${resource} WHERE ${matches(filter)}) r ON true`,
  );
  const [first] = found;
  return {
    epoch: first?.epoch ?? "",
    revision: Number(first?.revision),
    rows: found.flatMap(({ version, body }) =>
      version === null || body === null ? [] : [{ version, body }],
    ),
  };
}

/** The rows whose owner has this key. */
export async function ownedRows(client: Sql, owner: Buffer): Promise<readonly BodyRow[]> {
  return client<BodyRow[]>`SELECT version, body FROM resource WHERE owner = ${owner}`;
}

/** The condition of a filter, in the order of the primary key. */
function matches(filter: ResourceFilter): SQL | undefined {
  const { type, tenancy, namePrefix } = filter;
  const exact = (column: Parameters<typeof eq>[0], value: string): SQL | undefined =>
    value === WILDCARD ? undefined : eq(column, value);
  const end = prefixEnd(namePrefix);
  return and(
    eq(resource.group, type.group),
    eq(resource.kind, type.kind),
    exact(resource.partition, tenancy.partition),
    exact(resource.peerName, tenancy.peerName),
    exact(resource.namespace, tenancy.namespace),
    namePrefix === "" ? undefined : gte(resource.name, namePrefix),
    end === undefined ? undefined : lt(resource.name, end),
  );
}

/**
 * The first text behind all that start with the prefix, in the order of code points, which is that
 * of the UTF-8 bytes; `undefined` when there is none.
 */
export function prefixEnd(prefix: string): string | undefined {
  const points = Array.from(prefix, (character) => character.codePointAt(0) as number);
  while (points.length > 0) {
    const last = points.pop() as number;
    if (last === 0x10_ff_ff) continue;
    // The code points of surrogates have no UTF-8 form.
    const next = last === 0xd7_ff ? 0xe0_00 : last + 1;
    return String.fromCodePoint(...points, next);
  }
  return undefined;
}

/** Runs a query as a prepared statement: of one shape the server plans and names it once. */
async function runPrepared<T extends object>(client: Sql, query: SQL): Promise<readonly T[]> {
  const { sql: text, params } = dialect.sqlToQuery(query);
  return client.unsafe<T[]>(text, params as string[], { prepare: true });
}

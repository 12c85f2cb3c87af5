import { and, eq, gte, lt, type SQL, sql } from "drizzle-orm";
import { PgDialect } from "drizzle-orm/pg-core";
import type { Sql } from "postgres";
import { CHECKSUM_BYTES } from "../../checked-body.ts";
import { StorageError } from "../../errors.ts";
import type { ResourceFilter } from "../../key.ts";
import { type ResourceId, WILDCARD } from "../../resource.ts";
import { DURABILITY, type DurabilityRow, type SeenRevision } from "./durable-reads.ts";
import type { BodyRow, KeyedRow } from "./rows.ts";
import { needsWalk, type WalkPace, type WalkTarget, walkTables } from "./scattered-rows.ts";
import { resource } from "./schema.ts";

const dialect = new PgDialect();

/** What is stored under a name, at one point in time. */
interface FoundRow extends SeenRevision {
  readonly row: (BodyRow & { readonly uid: string }) | undefined;
}

interface ReadRow extends DurabilityRow {
  readonly revision: string;
  readonly uid: string | null;
  readonly version: string;
  readonly body: Uint8Array;
}

/** The row of one resource. */
export async function readRow(client: Sql, id: ResourceId): Promise<FoundRow> {
  const { type, tenancy, name } = id;
  const [found] = await runPrepared<ReadRow>(
    client,
    sql`
      SELECT s.revision, ${DURABILITY}, r.uid, r.version, r.body
      FROM store s LEFT JOIN resource r ON r.grp = ${type.group} AND r.kind = ${type.kind}
        AND r.partition = ${tenancy.partition} AND r.peer_name = ${tenancy.peerName}
        AND r.namespace = ${tenancy.namespace} AND r.name = ${name}`,
  );
  if (found === undefined) throw new StorageError("STORAGE_INCONSISTENT", "the store has no row");
  const { revision, durable, life, uid, version, body } = found;
  return {
    revision: Number(revision),
    durable: Number(durable),
    life: String(life),
    row: uid === null ? undefined : { uid, version, body },
  };
}

/** Bounds of a page: rows, and bytes of bodies unless it is a single one. */
const PAGE_BOUNDS: RowPageBounds = { rows: 2_000, bytes: 4 * 1024 * 1024, bodyBytes: undefined };

/** How much of what is stored a page may have. */
export interface RowPageBounds {
  readonly rows: number;
  readonly bytes: number;
  /** Bytes from the beginning of each body; `undefined` for all. */
  readonly bodyBytes: number | undefined;
  /** Of a walk over what is not selected. */
  readonly pace?: WalkPace;
}

/** What rows a scan selects. */
export type RowTarget =
  | { readonly kind: "filter"; readonly filter: ResourceFilter }
  | { readonly kind: "owner"; readonly owner: Buffer }
  | { readonly kind: "all" };

/** Rows in the order of their keys, together with the position of the store at the same point in time. */
export interface RowPage extends SeenRevision {
  readonly epoch: string;
  readonly rows: readonly KeyedRow[];
  /** What the next page comes after; absent when this is the last one. */
  readonly next?: string;
}

interface PositionedRow extends DurabilityRow {
  readonly epoch: string;
  readonly revision: string;
  readonly more: boolean;
  readonly key: string | null;
  readonly uid: string | null;
  readonly version: string | null;
  readonly body: Uint8Array | null;
  readonly size: number | null;
  readonly walked: string | null;
}

/** Up to a page of the rows of a target, behind a key. */
export async function readPage(
  client: Sql,
  target: RowTarget,
  after: string | undefined,
  { rows: limit, bytes, bodyBytes, pace }: RowPageBounds = PAGE_BOUNDS,
): Promise<RowPage> {
  const body = bodyBytes === undefined ? BODY : sql`substring(t.body FROM 1 FOR ${bodyBytes}::int)`;
  const taken =
    bodyBytes === undefined ? BODY_SIZE : sql`least(octet_length(body), ${bodyBytes}::int)`;
  // Plans depend on the number behind LIMIT, and each one is a statement that connections keep.
  const fetched = sql.raw(String(2 ** Math.ceil(Math.log2(limit + 1))));
  const key = after === undefined ? undefined : (JSON.parse(after) as readonly string[]);
  const isWalk =
    target.kind === "filter" && needsWalk(target.filter, String(client.parameters.server_version));
  const tables = isWalk
    ? walkTables({ ...walkOver(target.filter), after: key }, COLUMNS, limit, fetched, pace)
    : sql`WITH found AS (
        SELECT ${COLUMNS} FROM ${resource}
        WHERE ${and(matches(target), key === undefined ? undefined : behind(target, key))}
        ORDER BY ${KEY} LIMIT ${fetched}
      )`;
  const walked = isWalk
    ? sql`(SELECT json_build_array(${target.filter.type.group}::text, ${target.filter.type.kind}::text,
        partition, peer_name, namespace, name)::text FROM walked)`
    : sql`NULL`;
  // Sizes are summed up inside: a body beyond the page is neither read nor sent. LIMIT 1 says that `store` has one row: without
  // statistics the server expects hundreds, and with them enough of a result to compile the statement first.
  const found = await runPrepared<PositionedRow>(
    client,
    sql`
      ${tables}, page AS (
        SELECT *, row_number() OVER w AS place,
          sum(${taken}) OVER w AS upto
        FROM found WINDOW w AS (ORDER BY ${KEY_NAMES} ROWS UNBOUNDED PRECEDING)
      ), taken AS (
        SELECT * FROM page
        WHERE place <= ${limit}::int AND (place = 1 OR upto <= ${bytes}::int)
      )
      SELECT content_epoch() AS epoch, s.revision, ${DURABILITY},
        (SELECT count(*) FROM found) > (SELECT count(*) FROM taken) AS more,
        json_build_array(${KEY_NAMES})::text AS key, t.uid, t.version,
        ${body} AS body, octet_length(t.body) AS size, ${walked} AS walked
      FROM (SELECT revision FROM store LIMIT 1) s LEFT JOIN taken t ON true ORDER BY t.place`,
  );
  const [first] = found;
  const rows = found.flatMap(({ key, uid, version, body, size }): readonly KeyedRow[] =>
    key === null || uid === null || version === null || body === null || size === null
      ? []
      : [{ key, uid, version, body, size }],
  );
  const next = first?.more === true ? rows.at(-1)?.key : (first?.walked ?? undefined);
  return {
    epoch: first?.epoch ?? "",
    revision: Number(first?.revision),
    durable: Number(first?.durable),
    life: String(first?.life),
    rows,
    ...(next === undefined ? {} : { next }),
  };
}

const BODY = sql.raw("t.body");
/** As all engines count it: without the checksum, which rows of earlier releases do not have. */
const BODY_SIZE = sql.raw(`octet_length(body) - ${CHECKSUM_BYTES}`);

/** The columns of the primary key, in its order. */
const KEY_COLUMNS = [
  resource.group,
  resource.kind,
  resource.partition,
  resource.peerName,
  resource.namespace,
  resource.name,
] as const;

const KEY = listOf(KEY_COLUMNS.map((column) => sql`${column}`));
const KEY_NAMES = sql.raw("grp, kind, partition, peer_name, namespace, name");
const COLUMNS = sql`${KEY}, ${resource.uid}, ${resource.version}, ${resource.body}`;

/**
 * The condition of rows behind a key, as `json_build_array` gave it. Columns that the target fixes are left out: a server that finds
 * `a = 1 AND (a, b) > (1, 7)` takes the equality alone as the place where the index is entered, and reads on from the first row of
 * `a`, so that pages would cost what lies in front of them.
 */
function behind(target: RowTarget, key: readonly string[]): SQL {
  const from = target.kind === "filter" ? fixedColumns(target.filter) : 0;
  const fields = key.slice(from);
  const columns = KEY_COLUMNS.slice(from).map((column) => sql`${column}`);
  return sql`(${listOf(columns)}) > (${listOf(fields.map((field) => sql`${field}::text`))})`;
}

/** How many columns of the key, from the first one on, have one value in all rows of a filter. The name is never one of them. */
function fixedColumns({ tenancy: { partition, peerName, namespace } }: ResourceFilter): number {
  const open = [partition, peerName, namespace].indexOf(WILDCARD);
  return KEY_COLUMNS.length - (open === -1 ? 1 : 4 - open);
}

function listOf(parts: readonly SQL[]): SQL {
  return sql.join([...parts], sql.raw(", "));
}

/** The condition of a target, in the order of the primary key. */
function matches(target: RowTarget): SQL | undefined {
  if (target.kind === "all") return sql`true`;
  if (target.kind === "owner") return sql`${resource.owner} = ${target.owner}`;
  return filterMatches(target.filter);
}

function filterMatches(filter: ResourceFilter): SQL | undefined {
  return and(...typeConditions(filter), ...tenancyConditions(filter), ...nameConditions(filter));
}

/** The conditions of {@link walkTables}. */
function walkOver(filter: ResourceFilter): Omit<WalkTarget, "after"> {
  const fixed = fixedColumns(filter);
  const tenancies = tenancyConditions(filter);
  const front = fixed - 2;
  return {
    fixed,
    within: and(...typeConditions(filter), ...tenancies.slice(0, front)) ?? sql`true`,
    selected: and(...tenancies.slice(front), ...nameConditions(filter)) ?? sql`true`,
  };
}

function typeConditions({ type }: ResourceFilter): readonly SQL[] {
  return [eq(resource.group, type.group), eq(resource.kind, type.kind)];
}

function tenancyConditions({ tenancy }: ResourceFilter): readonly (SQL | undefined)[] {
  const exact = (column: Parameters<typeof eq>[0], value: string): SQL | undefined =>
    value === WILDCARD ? undefined : eq(column, value);
  return [
    exact(resource.partition, tenancy.partition),
    exact(resource.peerName, tenancy.peerName),
    exact(resource.namespace, tenancy.namespace),
  ];
}

function nameConditions({ namePrefix }: ResourceFilter): readonly (SQL | undefined)[] {
  const end = prefixEnd(namePrefix);
  return [
    namePrefix === "" ? undefined : gte(resource.name, namePrefix),
    end === undefined ? undefined : lt(resource.name, end),
  ];
}

/**
 * The first text behind all that start with the prefix, in the order of code points, which is that
 * of the UTF-8 bytes; `undefined` when there is none.
 */
function prefixEnd(prefix: string): string | undefined {
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
  return client.unsafe<T[]>(text, params as (string | Buffer)[], { prepare: true });
}

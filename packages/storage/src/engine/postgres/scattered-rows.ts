import { type SQL, sql } from "drizzle-orm";
import type { ResourceFilter } from "../../key.ts";
import { WILDCARD } from "../../resource.ts";

// Rows that a filter selects lie together in the primary key, unless a wildcard is in front of a name prefix or of a field that
// is given. Servers from 18 on skip over what lies between (skip scans). Earlier ones read the keys of the whole type from one end to the other.
// For those a walk takes steps over the type. Each looks some rows ahead. If these are of one tenancy, the step takes what the index has of
// this tenancy under the prefix, and the next one begins behind the tenancy; otherwise it takes what is selected of these rows.
// So a tenancy of any size costs a step or two, and small ones share them. Steps are counted, so no statement grows with
// what is stored.

/** The first major version of servers that skip. */
const SKIPPING_VERSION = 18;

/** How far a statement walks. */
export interface WalkPace {
  /** Rows that a step looks ahead. */
  readonly stride: number;
  /** Steps of a statement. What is behind the last one belongs to another page. */
  readonly steps: number;
}

/** Looking so far ahead takes about the time of the look-ups of a step. */
const PACE: WalkPace = { stride: 128, steps: 1_000 };

/** Behind every text that a key can have, as these have at most 512 bytes. */
const LAST = "repeat(chr(1114111), 129)";

const TENANCY = ["partition", "peer_name", "namespace"] as const;
const KEY = [...TENANCY, "name"] as const;
const ORDER = sql.raw(`ORDER BY grp, kind, ${KEY.join(", ")}`);

/** Whether a server has to be led over what a filter does not select. */
export function needsWalk({ tenancy, namePrefix }: ResourceFilter, version: string): boolean {
  if (Number.parseInt(version, 10) >= SKIPPING_VERSION) return false;
  const fields = [tenancy.partition, tenancy.peerName, tenancy.namespace];
  const open = fields.indexOf(WILDCARD);
  if (open === -1) return false;
  return namePrefix !== "" || fields.slice(open).some((field) => field !== WILDCARD);
}

/** What a walk looks for in the table `resource`. */
export interface WalkTarget {
  /** The condition of the rows that it goes over: equalities of the first columns of the key. */
  readonly within: SQL;
  /** The condition of those that it takes. */
  readonly selected: SQL;
  /** How many columns of the key `within` fixes. */
  readonly fixed: number;
  /** The key that it begins behind. */
  readonly after: readonly string[] | undefined;
}

/**
 * The tables of a walk, with which a statement begins. `found` has rows in the order of their keys: more than `limit` if so many
 * are there, and at most `fetched`. `walked` has a row when the steps were used up: the key up to which everything is in `found`.
 */
export function walkTables(
  target: WalkTarget,
  columns: SQL,
  limit: number,
  fetched: SQL,
  pace: WalkPace = PACE,
): SQL {
  const { within, selected, fixed, after } = target;
  const stride = sql.raw(String(pace.stride));
  const steps = sql.raw(String(pace.steps));
  // Fixed columns are left out of comparisons of rows: see `behind` of pages.
  const open = KEY.slice(fixed - 2);
  const row = (prefix: string): SQL =>
    sql.raw(`(${open.map((column) => prefix + column).join(", ")})`);
  /** Rows behind the end of the step before. As `>=` beside an equality of the next column it would begin at the first column alone. */
  const ahead = (step: string): SQL => sql`
    FROM resource WHERE ${within} AND ${row("")} > ${row(`${step}.from_`)}`;
  const nextStep = (from: SQL): SQL => sql`
    SELECT p.*, ${list((column) => `n.${column}`)}, w.whole, ${list((column) =>
      column === "name"
        ? `CASE WHEN w.whole THEN ${LAST} ELSE coalesce(a.name, ${LAST}) END AS last_name`
        : `coalesce(a.${column}, ${LAST}) AS last_${column}`,
    )}
    FROM (SELECT ${from}) p
      CROSS JOIN LATERAL (SELECT ${list()} ${ahead("p")} ${ORDER} LIMIT 1) n
      LEFT JOIN LATERAL (
        SELECT ${list()} ${ahead("p")} ${ORDER} OFFSET ${stride} - 1 LIMIT 1
      ) a ON true
      CROSS JOIN LATERAL (SELECT coalesce(${equal("a", "n")}, false) AS whole) w`;
  const start = KEY.map(
    (column, at) => sql`${after?.[at + 2] ?? ""}::text COLLATE "C" AS ${sql.raw(`from_${column}`)}`,
  );
  const ofTenancy = (what: SQL): SQL => sql`
    SELECT ${what} FROM resource
    WHERE s.whole AND ${within} AND ${equal("resource", "s")} AND name >= s.name AND ${selected}
    ${ORDER} LIMIT ${fetched}`;
  // OFFSET 0 lets the server count once for the two columns that the number is in.
  const counted = sql`
    CROSS JOIN LATERAL (SELECT
      (SELECT count(*) FROM (${ofTenancy(sql`1`)}) t) + (SELECT count(*) FROM (
        SELECT ${list()} ${ahead("s")} AND NOT s.whole ${ORDER} LIMIT ${stride}
      ) resource WHERE ${selected}) AS taken OFFSET 0) c`;
  return sql`WITH RECURSIVE walk AS (
      SELECT 1 AS step, s.*, c.taken, c.taken AS upto FROM (${nextStep(sql.join(start, sql.raw(", ")))}) s ${counted}
      UNION ALL
      SELECT v.step + 1, s.*, c.taken, v.upto + c.taken
      FROM walk v CROSS JOIN LATERAL (${nextStep(list((column) => `v.last_${column} AS from_${column}`))}) s ${counted}
      WHERE v.upto <= ${limit}::int AND v.step < ${steps}
    ), found AS (
      SELECT f.* FROM walk s CROSS JOIN LATERAL (
        (${ofTenancy(columns)})
        UNION ALL
        (SELECT ${columns} ${ahead("s")} AND NOT s.whole AND ${selected} ${ORDER} LIMIT least(s.taken, ${fetched}))
      ) f
      WHERE s.taken > 0 ${ORDER} LIMIT ${fetched}
    ), walked AS (
      SELECT ${list((column) => `last_${column} AS ${column}`)} FROM walk
      WHERE step = ${steps}
    )`;
}

function list(form: (column: (typeof KEY)[number]) => string = (column) => column): SQL {
  return sql.raw(KEY.map(form).join(", "));
}

function equal(left: string, right: string): SQL {
  return sql.raw(TENANCY.map((one) => `${left}.${one} = ${right}.${one}`).join(" AND "));
}

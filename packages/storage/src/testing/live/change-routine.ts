import assert from "node:assert/strict";
import type postgres from "postgres";

/** A mistake that a release could make: what is replaced in the text of a routine of the store. */
export type RoutineChange = readonly [routine: string, from: RegExp, to: string];

/** Plants a mistake into a routine of a store in PostgreSQL; fails where the text is not there. */
export async function changeRoutine(
  admin: postgres.Sql,
  schema: string,
  [routine, from, to]: RoutineChange,
): Promise<void> {
  const source = await routineSource(admin, schema, routine);
  assert.match(source, from);
  await admin.unsafe(source.replace(from, to));
}

/** The statement that makes a routine of a store. Leaves the search path of the session at that store. */
export async function routineSource(
  admin: postgres.Sql,
  schema: string,
  routine: string,
): Promise<string> {
  await admin.unsafe(`SET search_path TO ${schema}`);
  const [row] = await admin<{ source: string }[]>`
    SELECT pg_get_functiondef(p.oid) AS source FROM pg_proc p
    WHERE p.proname = ${routine} AND p.pronamespace = ${schema}::regnamespace`;
  return row?.source ?? "";
}

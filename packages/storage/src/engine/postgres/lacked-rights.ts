import type { PostgresError, Sql } from "postgres";
import { StorageError } from "../../errors.ts";

interface RightsRow {
  readonly role: string;
  readonly database: string;
  readonly may_create: boolean;
  /** Null where there is no such schema. */
  readonly owner: string | null;
  readonly may_use: boolean | null;
  readonly may_fill: boolean | null;
  /** A table, sequence or routine of the schema that belongs to a role that this one is not a member of. */
  readonly foreign_owner: string | null;
}

/**
 * `STORAGE_PERMISSION_DENIED` for a role that is not allowed to look at the tables of a store or to make them, with the statement
 * that gives it the right: trying again does not help. Runs on the session that was refused.
 */
export async function lackedRights(
  client: Sql,
  schema: string,
  refusal: PostgresError,
): Promise<StorageError> {
  const grant = await missingGrant(client, schema).catch(() => undefined);
  const advice = grant === undefined ? "" : `; let an administrator run: ${grant}`;
  return new StorageError(
    "STORAGE_PERMISSION_DENIED",
    `the role of the URL is not allowed to prepare the store in schema "${schema}": ${refusal.message}${advice}`,
    { cause: refusal },
  );
}

async function missingGrant(client: Sql, schema: string): Promise<string | undefined> {
  const [rights] = await client<RightsRow[]>`
    SELECT quote_ident(current_user) AS role, quote_ident(current_database()) AS database,
      has_database_privilege(current_database(), 'CREATE') AS may_create,
      quote_ident(pg_get_userbyid(n.nspowner)) AS owner,
      has_schema_privilege(n.oid, 'USAGE') AS may_use, has_schema_privilege(n.oid, 'CREATE') AS may_fill,
      (SELECT quote_ident(pg_get_userbyid(o.owner)) FROM (
        SELECT relowner AS owner FROM pg_class WHERE relnamespace = n.oid
        UNION ALL SELECT proowner FROM pg_proc WHERE pronamespace = n.oid
      ) o WHERE NOT pg_has_role(o.owner, 'USAGE') LIMIT 1) AS foreign_owner
    FROM (SELECT) one LEFT JOIN pg_namespace n ON n.nspname = ${schema}`;
  if (rights === undefined) return undefined;
  const { role, database, owner } = rights;
  // The tables of a store belong to the role that made them, and only an owner may change them.
  if (rights.foreign_owner !== null) return `GRANT ${rights.foreign_owner} TO ${role}`;
  if (!rights.may_create) return `GRANT CREATE ON DATABASE ${database} TO ${role}`;
  if (owner === null) return undefined;
  if (rights.may_use !== true || rights.may_fill !== true) {
    return `GRANT USAGE, CREATE ON SCHEMA ${schema} TO ${role}`;
  }
  return undefined;
}

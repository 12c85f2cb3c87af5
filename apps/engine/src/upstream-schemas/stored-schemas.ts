import { type UpstreamSchema, UpstreamSchemas } from "@stackwright/proto/stackwright";
import { readStored, type StorageBackend, tenancyOf } from "@stackwright/storage";
import { decodeRecord } from "../domain/record-kind.ts";
import type { Place } from "../domain/run-places.ts";
import { ServerError } from "../domain/server-error.ts";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
import { idOf, type TransactionParts, transact } from "../queue/transaction.ts";

/** Names a version of a provider. */
interface SchemaName {
  readonly provider: string;
  readonly version: string;
}

/** Where the schemas of an account are listed. */
export function schemasPlace(account: string): Place {
  return { tenancy: tenancyOf({ kind: "account", account }), name: "schemas" };
}

/** The schemas of upstream providers that runs of an account handed in. */
export async function listSchemas(
  storage: StorageBackend,
  account: string,
): Promise<readonly UpstreamSchema[]> {
  const { upstreamSchemas } = SERVER_KINDS;
  const found = await readStored(storage, "strong", idOf(upstreamSchemas, schemasPlace(account)));
  return found === undefined ? [] : decodeRecord(upstreamSchemas, found).schemas;
}

/** Forgets a schema: the next run that uses the version hands in what it has. */
export async function removeSchema(
  parts: TransactionParts,
  account: string,
  name: SchemaName,
): Promise<void> {
  await transact(parts, async (tx) => {
    const { upstreamSchemas } = SERVER_KINDS;
    const row = await tx.findOrNew(upstreamSchemas, schemasPlace(account), () =>
      UpstreamSchemas.create(),
    );
    const { schemas } = row.message;
    if (!schemas.some((one) => isOf(one, name))) throw noSchema(name);
    tx.update(row, { schemas: schemas.filter((one) => !isOf(one, name)) });
  });
}

export function isOf(schema: SchemaName, { provider, version }: SchemaName): boolean {
  return schema.provider === provider && schema.version === version;
}

export function noSchema({ provider, version }: SchemaName): ServerError {
  return new ServerError(
    "not_found",
    `the server has no schema of version ${version} of ${provider}; it gets one when a run uses it`,
  );
}

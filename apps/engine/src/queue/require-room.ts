import { CreationCount } from "@stackwright/proto/stackwright";
import { type Resource, type ResourceType, type Tenancy, tenancyOf } from "@stackwright/storage";
import type { Place } from "../domain/run-places.ts";
import { ServerError } from "../domain/server-error.ts";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
import type { Row, Transaction, TransactionParts } from "./transaction.ts";

/** A number of objects that is limited. */
interface Room {
  readonly kind: { readonly type: ResourceType };
  readonly tenancy: Tenancy;
  /** What the names of those begin with that are counted. @default all of the kind that are there */
  readonly prefix?: string;
  readonly most: number;
  /** Why there is no room for one more. */
  readonly detail: string;
  /** What is thrown where there is none. @default an `unprocessable` error of the server */
  readonly refusal?: (detail: string) => Error;
}

/**
 * Refuses one more object where there are as many as may be; otherwise it is created by the same transaction. Each that is created writes
 * one record, which is read before the others are counted: of two at once, on whatever servers, the second begins again and counts the first.
 */
export async function requireRoom(
  { storage }: Pick<TransactionParts, "storage">,
  tx: Transaction,
  { kind, tenancy, prefix = "", most, detail, refusal = unprocessable }: Room,
): Promise<readonly Resource[]> {
  const row = await countOf(tx, { kind, tenancy, prefix });
  tx.update(row, { created: row.message.created + 1n });
  let damaged = 0;
  const onDamaged = (): void => {
    damaged += 1;
  };
  const known = await storage.list("strong", kind.type, tenancy, prefix, { onDamaged });
  if (known.length + damaged < most) return known;
  throw refusal(detail);
}

function unprocessable(detail: string): ServerError {
  return new ServerError("unprocessable", detail);
}

/**
 * Makes a transaction wait its turn among those that create objects of a limited number, without one more: what it reads after this, none of
 * them changes until it is written.
 */
export async function orderWithCreations(
  tx: Transaction,
  counted: Pick<Room, "kind" | "tenancy" | "prefix">,
): Promise<void> {
  tx.update(await countOf(tx, counted), {});
}

async function countOf(
  tx: Transaction,
  { kind, tenancy, prefix = "" }: Pick<Room, "kind" | "tenancy" | "prefix">,
): Promise<Row<CreationCount>> {
  const place = countPlace(kind.type, tenancy, prefix);
  return tx.findOrNew(SERVER_KINDS.creationCount, place, () => CreationCount.create());
}

/** Where it is counted what was created. */
export function countPlace({ kind }: ResourceType, tenancy: Tenancy, prefix: string): Place {
  const account = tenancyOf({ kind: "account", account: tenancy.partition });
  const project = tenancy.namespace === account.namespace ? "" : tenancy.namespace;
  const name = [kind, project, prefix].filter((part) => part !== "").join(".");
  return { tenancy: account, name };
}

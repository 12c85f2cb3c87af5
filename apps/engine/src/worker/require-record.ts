import { readStored } from "@stackwright/storage";
import { decodeRecord, type RecordKind } from "../domain/record-kind.ts";
import type { Place } from "../domain/run-places.ts";
import { ServerError } from "../domain/server-error.ts";
import { idOf, type TransactionParts } from "../queue/transaction.ts";

/** The present content of a record; `not_found` where there is none. */
export async function requireRecord<M>(
  { storage }: TransactionParts,
  kind: RecordKind<M>,
  place: Place,
): Promise<M> {
  const found = await readStored(storage, "strong", idOf(kind, place));
  if (found === undefined) {
    throw new ServerError("not_found", `there is no ${kind.type.kind} "${place.name}"`);
  }
  return decodeRecord(kind, found);
}

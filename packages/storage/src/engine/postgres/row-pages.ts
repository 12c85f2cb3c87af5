import { StorageError } from "../../errors.ts";
import type { Connections } from "./connections.ts";
import type { DurableReads } from "./durable-reads.ts";
import { ReadTransaction } from "./read-transaction.ts";
import { type RowPage, type RowTarget, readPage } from "./reads.ts";

// A statement has a deadline, so no statement may grow with what is stored: rows come in pages that
// are bounded in number and bytes. What fits into the first page, as most does, is one statement on a
// connection of the pool. More than that takes a transaction, which shows all pages at one point in
// time.

/** The rows of a target at one point in time, in pages; at least one. Leaving early is fine. */
export async function* rowPages(
  connections: Connections,
  reads: DurableReads,
  target: RowTarget,
  signal?: AbortSignal,
): AsyncGenerator<RowPage, undefined> {
  const only = await reads.run((sql) => readPage(sql, target, undefined));
  if (only.next === undefined) {
    yield only;
    return;
  }
  await using transaction = await ReadTransaction.open(connections);
  let next: string | undefined;
  let first: RowPage | undefined;
  do {
    signal?.throwIfAborted();
    const after = next;
    const page = await reads.settle(await transaction.run((sql) => readPage(sql, target, after)));
    first ??= page;
    if (page.revision !== first.revision || page.epoch !== first.epoch) {
      throw new StorageError("STORAGE_INCONSISTENT", "the connection of a list broke");
    }
    yield page;
    next = page.next;
  } while (next !== undefined);
}

/** The first of {@link rowPages}, which is always there. */
export async function firstPage(pages: AsyncGenerator<RowPage, undefined>): Promise<RowPage> {
  const { value } = await pages.next();
  if (value !== undefined) return value;
  throw new StorageError("STORAGE_INCONSISTENT", "the database gave no page of rows");
}

import { formatCursor } from "../../feed/cursor.ts";
import type { ReadManyOptions, Snapshot } from "../../types.ts";
import type { Connections } from "./connections.ts";
import type { DurableReads } from "./durable-reads.ts";
import { firstPage, rowPages } from "./row-pages.ts";
import { fromRows } from "./rows.ts";

/** Opens a view of everything stored. */
export async function openSnapshot(
  connections: Connections,
  reads: DurableReads,
  { onDamaged }: ReadManyOptions,
  onClose: () => void,
): Promise<Snapshot> {
  const pages = rowPages(connections, reads, { kind: "all" });
  // Fixes the point in time: fetched now, not at the first iteration.
  const first = await firstPage(pages);
  const close = async (): Promise<void> => {
    onClose();
    await pages.return(undefined);
  };
  return {
    cursor: formatCursor(first.epoch, first.revision),
    async *[Symbol.asyncIterator]() {
      try {
        yield* fromRows(first.rows, onDamaged);
        for await (const { rows } of pages) yield* fromRows(rows, onDamaged);
      } finally {
        await close();
      }
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}

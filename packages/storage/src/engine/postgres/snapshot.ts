import type { Sql } from "postgres";
import type { Resource } from "../../resource.ts";
import type { Snapshot } from "../../types.ts";
import type { Connections } from "./connections.ts";
import { type BodyRow, fromBodyRow } from "./rows.ts";
import { toStorageError } from "./server-error.ts";

/** Rows fetched at a time. */
const PAGE = 256;

/** Opens a view of everything stored, on a connection of its own that is closed with it. */
export async function openSnapshot(
  connections: Connections,
  onClose: () => void,
): Promise<Snapshot> {
  const client = connections.dedicated();
  const close = async (): Promise<void> => {
    onClose();
    await client.end({ timeout: 0 }).catch(() => undefined);
  };
  try {
    await client.unsafe("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY");
    await client.unsafe("DECLARE everything CURSOR FOR SELECT version, body FROM resource");
    // The cursor's own plan starts at the first fetch; its view of the store is fixed by now.
  } catch (error) {
    await close();
    throw toStorageError(error, "read");
  }
  return {
    async *[Symbol.asyncIterator]() {
      try {
        yield* fetchAll(client);
      } catch (error) {
        throw toStorageError(error, "read");
      } finally {
        await close();
      }
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}

async function* fetchAll(client: Sql): AsyncGenerator<Resource> {
  for (;;) {
    const rows = await client.unsafe<BodyRow[]>(`FETCH ${PAGE} FROM everything`);
    yield* rows.map(fromBodyRow);
    if (rows.length < PAGE) return;
  }
}

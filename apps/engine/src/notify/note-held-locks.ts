import { WILDCARD } from "@stackwright/storage";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
import { listReadable, logDamaged } from "../queue/list-readable.ts";
import { noteEvent } from "../queue/note-event.ts";
import { isOver } from "../queue/stack-lock.ts";
import { transact } from "../queue/transaction.ts";
import type { NotificationParts } from "./notification-parts.ts";

const ANYWHERE = { partition: WILDCARD, peerName: WILDCARD, namespace: WILDCARD };
/** How long a lock is held until destinations get an event. */
const LONG_MS = 4 * 3_600_000;

/** Notes the locks that are held for long, each once. */
export async function noteHeldLocks(
  parts: Pick<NotificationParts, "storage" | "clock" | "token" | "random" | "logger">,
  signal: AbortSignal,
): Promise<void> {
  const { storage, clock, logger } = parts;
  const kind = SERVER_KINDS.lock;
  const onDamaged = logDamaged(logger);
  const locks = await listReadable(storage, kind, ANYWHERE, { signal, onDamaged });
  for (const { id, message: lock } of locks) {
    if (lock.notedAtMs !== 0n || clock.wallMs() - Number(lock.atMs) < LONG_MS) continue;
    const { partition: account, namespace: project } = id.tenancy;
    const stack = { account, project, stack: id.name };
    await transact(parts, async (tx) => {
      const row = await tx.find(kind, id);
      if (row === undefined) return;
      const { notedAtMs, atMs, actor } = row.message;
      const isHeld = !isOver(row.message, tx.nowMs) && tx.nowMs - Number(atMs) >= LONG_MS;
      if (!isHeld || notedAtMs !== 0n) return;
      await noteEvent(tx, { event: "stack.locked_long", stack, actor });
      tx.update(row, { notedAtMs: BigInt(tx.nowMs) });
    });
  }
}

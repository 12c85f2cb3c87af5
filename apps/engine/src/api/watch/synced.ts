import type { Clock } from "@stackwright/base/clock";
import { ServerError } from "../../domain/server-error.ts";

/** How long the first view of the store may take. */
const SYNC_MS = 30_000;

/** Waits for the first view of the store; `store_unavailable` where it does not come. */
export async function synced(
  view: { whenSynced(options: { readonly signal: AbortSignal }): Promise<void> },
  clock: Clock,
  signal: AbortSignal,
): Promise<void> {
  const late = new AbortController();
  using _ = clock.after(SYNC_MS, () => late.abort());
  try {
    await view.whenSynced({ signal: AbortSignal.any([signal, late.signal]) });
  } catch (error) {
    if (!late.signal.aborted) throw error;
    throw new ServerError("store_unavailable", "the server has not read its store yet");
  }
}

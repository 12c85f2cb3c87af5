import type { Clock } from "@stackwright/base/clock";
import { ServerError } from "../../domain/server-error.ts";

/** How long a request waits for the first view of the store, and when it is worth another one: a client gives up in a minute. */
const SYNC_MS = 10_000;
const RETRY_MS = 5_000;

/** Waits for the first view of the store; `store_unavailable` where it does not come, with how many objects of it were `listed`. */
export async function synced(
  view: { whenSynced(options: { readonly signal: AbortSignal }): Promise<void> },
  clock: Clock,
  signal: AbortSignal,
  listed?: () => number,
): Promise<void> {
  const late = new AbortController();
  using _ = clock.after(SYNC_MS, () => late.abort());
  try {
    await view.whenSynced({ signal: AbortSignal.any([signal, late.signal]) });
  } catch (error) {
    if (!late.signal.aborted) throw error;
    const progress = listed === undefined ? "" : `: it has ${listed()} objects so far`;
    throw new ServerError("store_unavailable", `the server has not read its store yet${progress}`, {
      retryAfterMs: RETRY_MS,
    });
  }
}

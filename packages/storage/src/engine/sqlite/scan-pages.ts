import type { ScanPage, ScanTarget } from "./protocol.ts";
import type { StoreClient } from "./store-client.ts";

/** The pages of a scan, all of one point in time. Leaving the loop early ends the scan. */
export async function* scanPages(
  client: StoreClient,
  target: ScanTarget,
  signal?: AbortSignal,
): AsyncGenerator<ScanPage, undefined> {
  let page: ScanPage | undefined = await client.call("scan", target);
  let open = page.scan;
  try {
    for (;;) {
      signal?.throwIfAborted();
      yield page;
      if (open === undefined) return;
      const id: number = open;
      open = undefined;
      page = await client.call("page", id);
      open = page.scan;
    }
  } finally {
    // A scan that failed is gone, and so is one of a store that was closed meanwhile.
    if (open !== undefined) client.call("endScan", open).catch(() => undefined);
  }
}

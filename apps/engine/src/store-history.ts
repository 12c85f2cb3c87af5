import type { HistoryOptions } from "@stackwright/storage";
import type { ServerOptions } from "./server-options.ts";

const MIB = 1024 * 1024;
const HOUR_MS = 3_600_000;

/** How much history the store of a server keeps, by its options. */
export function storeHistoryOf({ history }: ServerOptions): HistoryOptions {
  return {
    ...(history?.commits !== undefined && { events: history.commits }),
    ...(history?.mib !== undefined && { bytes: history.mib * MIB }),
    ...(history?.hours !== undefined && { maxAgeMs: history.hours * HOUR_MS }),
  };
}

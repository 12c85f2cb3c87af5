import { randomUUID } from "node:crypto";
import type { Clock } from "@stackwright/base/clock";
import type { Logger } from "@stackwright/base/logger";
import type { OpenStore } from "@stackwright/core";
import type { ServerClock } from "./clock/server-clock.ts";
import { StoreClock } from "./clock/store-clock.ts";
import { PeerClocks } from "./worker/peer-clocks.ts";

/** Compares the clock of a server with that of its store, or, where that has none and others may have it, with those of the others. */
export function openServerClock(
  { storage, shared, serverMs }: Pick<OpenStore, "storage" | "shared" | "serverMs">,
  { clock, logger }: { readonly clock: Clock; readonly logger: Logger },
): ServerClock {
  if (serverMs !== undefined || !shared) {
    return new StoreClock({ clock, logger, storeMs: serverMs });
  }
  return new PeerClocks({ storage, clock, logger, token: randomUUID, random: Math.random });
}

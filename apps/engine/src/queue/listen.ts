import { type Clock, sleep } from "@stackwright/base/clock";
import type { Logger } from "@stackwright/base/logger";
import { type ResourceType, type StorageBackend, WILDCARD } from "@stackwright/storage";
import type { Place } from "../domain/run-places.ts";

export interface ListenParts {
  readonly storage: StorageBackend;
  readonly clock: Clock;
  readonly logger: Logger;
}

const ANYWHERE = { partition: WILDCARD, peerName: WILDCARD, namespace: WILDCARD };

/**
 * Says when a resource of a kind was written, in any project, until the signal aborts. It only notifies: who listens looks by itself
 * from time to time, so that a lost event delays it and nothing else. Never rejects.
 */
export async function listen(
  { storage, clock, logger }: ListenParts,
  type: ResourceType,
  onWrite: (place: Place) => void,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    try {
      using watch = await storage.watchList(type, ANYWHERE, "", { signal });
      for (;;) {
        const event = await watch.next({ signal });
        if (event.operation === "upsert") onWrite(event.resource.id);
      }
    } catch (error) {
      if (signal.aborted) return;
      logger.warn({ kind: type.kind, err: error }, "a watch ended and is opened again");
      await sleep(clock, 1_000, signal).catch(() => undefined);
    }
  }
}

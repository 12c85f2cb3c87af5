import { type Clock, sleep } from "@stackwright/base/clock";
import type { Logger } from "@stackwright/base/logger";
import {
  type Resource,
  type ResourceType,
  type StorageBackend,
  WILDCARD,
} from "@stackwright/storage";

/** What mirrors are fed from. */
export interface MirrorParts {
  readonly storage: StorageBackend;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** What is kept of the resources of a kind. */
export interface Mirror {
  set(resource: Resource): void;
  delete(resource: Resource): void;
}

const ANYWHERE = { partition: WILDCARD, peerName: WILDCARD, namespace: WILDCARD };

/**
 * Keeps mirrors of all resources of a kind, in all projects, until the signal aborts: `onSynced` gets one that is complete, which then follows
 * the commits, and another one where the watch had to begin again; `onChange` follows each change of it. A mirror says
 * where to look; what has to be right is read from the store. A damaged resource is logged and left out. Never rejects.
 */
export async function mirrorKind<M extends Mirror>(
  { storage, clock, logger }: MirrorParts,
  type: ResourceType,
  {
    create,
    onSynced,
    onChange,
  }: {
    readonly create: () => M;
    readonly onSynced: (mirror: M) => void;
    readonly onChange: () => void;
  },
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    try {
      using watch = await storage.watchList(type, ANYWHERE, "", {
        signal,
        endOfSnapshot: true,
        onDamaged: ({ id, reason }) =>
          logger.warn({ kind: type.kind, name: id.name, reason }, "a record is damaged"),
      });
      const mirror = create();
      let isComplete = false;
      for (;;) {
        const event = await watch.next({ signal });
        if (event.operation === "bookmark") continue;
        if (event.operation === "endOfSnapshot") {
          isComplete = true;
          onSynced(mirror);
          continue;
        }
        if (event.operation === "upsert") mirror.set(event.resource);
        else mirror.delete(event.resource);
        if (isComplete) onChange();
      }
    } catch (error) {
      if (signal.aborted) return;
      logger.warn({ kind: type.kind, err: error }, "a watch ended and is opened again");
      await sleep(clock, 1_000, signal).catch(() => undefined);
    }
  }
}

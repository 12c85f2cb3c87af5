import { isStorageError } from "../errors.ts";
import type { CallOptions, Watch, WatchEvent } from "../types.ts";
import type { LagSamples } from "./lag-samples.ts";
import type { StorageObserver } from "./storage-observer.ts";

/** A watch that is observed until it is closed or fails. */
export function observeWatch(watch: Watch, observer: StorageObserver, lag: LagSamples): Watch {
  const ended = observer.watchOpened();
  let isOver = false;
  const end: typeof ended = (failure) => {
    if (isOver) return;
    isOver = true;
    ended(failure);
  };
  const next = async (options?: CallOptions): Promise<WatchEvent> => {
    try {
      const event = await watch.next(options);
      observer.delivered();
      // What a snapshot delivers has no cursor, and may be old.
      if ("resource" in event && event.cursor !== undefined) {
        const lagMs = lag.delivered(event.resource);
        if (lagMs !== undefined) observer.lagged(lagMs);
      }
      return event;
    } catch (error) {
      if (isStorageError(error, "STORAGE_WATCH_CLOSED")) end(error.code);
      throw error;
    }
  };
  const close = (): void => {
    end(undefined);
    watch.close();
  };
  return {
    next,
    close,
    [Symbol.dispose]: close,
    [Symbol.asyncIterator]: () => ({
      next: async () => {
        try {
          return { value: await next(), done: false };
        } catch (error) {
          if (isStorageError(error, "STORAGE_WATCH_ENDED")) return { value: undefined, done: true };
          throw error;
        }
      },
      return: async () => {
        close();
        return { value: undefined, done: true };
      },
    }),
  };
}

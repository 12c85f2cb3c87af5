import { type StorageBackend, StorageError, type Watch } from "@stackwright/storage";

/** A store whose watches are open, and say nothing: no snapshot, no event, no bookmark, and no end. */
export function silentWatches(inner: StorageBackend): StorageBackend {
  const watchList: StorageBackend["watchList"] = async () => silentWatch();
  return new Proxy(inner, {
    get: (target, key) => {
      if (key === "watchList") return watchList;
      const value: unknown = Reflect.get(target, key);
      return typeof value === "function" ? (value.bind(target) as unknown) : value;
    },
  });
}

function silentWatch(): Watch {
  const closing = new AbortController();
  const close = (): void => closing.abort(new StorageError("STORAGE_WATCH_ENDED"));
  const next: Watch["next"] = async ({ signal } = {}) => {
    const over = signal === undefined ? closing.signal : AbortSignal.any([closing.signal, signal]);
    return new Promise((_resolve, reject) => {
      const end = (): void => reject(over.reason as Error);
      over.addEventListener("abort", end, { once: true });
      if (over.aborted) end();
    });
  };
  return {
    next,
    close,
    [Symbol.dispose]: close,
    [Symbol.asyncIterator]: async function* events() {
      try {
        for (;;) yield await next();
      } finally {
        close();
      }
    },
  };
}

import { createMemoryStorage, MEMORY_CAPABILITIES } from "../engine/memory.ts";
import { createSqliteStorage, SQLITE_CAPABILITIES } from "../engine/sqlite.ts";
import { describeStorage } from "../testing/describe-storage.ts";
import type { OpenOptions } from "../testing/harness.ts";
import { makeScratchDirectory } from "../testing/scratch-directory.ts";
import type { WatchCacheOptions } from "./cache-options.ts";
import { createWatchCache } from "./watch-cache.ts";

/** A scenario that bounds the history means all of it: what the cache has would lengthen it. */
function cacheOptionsOf({ watchBuffer, history }: OpenOptions = {}): WatchCacheOptions {
  return { watchBuffer, ...(history !== undefined && { history: { events: 0 } }) };
}

describeStorage(
  "a watch cache over memory",
  async () => ({
    open: async (options) =>
      createWatchCache(createMemoryStorage(options), cacheOptionsOf(options)),
    [Symbol.asyncDispose]: async () => undefined,
  }),
  MEMORY_CAPABILITIES,
);

describeStorage(
  "a watch cache over sqlite",
  async () => {
    const scratch = await makeScratchDirectory();
    return {
      open: async (options) =>
        createWatchCache(
          await createSqliteStorage({ directory: scratch.path, ...options }),
          cacheOptionsOf(options),
        ),
      [Symbol.asyncDispose]: () => scratch[Symbol.asyncDispose](),
    };
  },
  SQLITE_CAPABILITIES,
);
